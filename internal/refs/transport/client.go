// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"time"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// idle is how long a connection is kept without use: longer than the usual
// interval between two listings.
const idle = 5 * time.Minute

// silence is the default of Options.Silence.
const silence = 30 * time.Second

// Options of a Client.
type Options struct {
	// SSHKexAlgos and SSHHostKeyAlgos restrict SSH connections; empty leaves
	// the library's defaults and the key types in known_hosts.
	SSHKexAlgos     []string
	SSHHostKeyAlgos []string
	// Silence is after how long without a sign of life an HTTP/2 connection is
	// checked; it is closed if there is none for half as long again. 30s if zero.
	Silence time.Duration
	// Limits of one answer; wire.DefaultLimits if zero.
	Limits wire.Limits
	// Now is the time of day; time.Now if nil.
	Now func() time.Time
}

// Client lists refs. It is safe for concurrent use.
type Client struct {
	http *httpClient
	ssh  *sshClient
}

// New makes a Client.
func New(o Options) *Client {
	if o.Limits == (wire.Limits{}) {
		o.Limits = wire.DefaultLimits
	}
	if o.Silence == 0 {
		o.Silence = silence
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{http: newHTTPClient(o), ssh: newSSHClient(o)}
}

// List asks one repository for the refs of a query. Refs that it does not have
// are left out. The error is a *fault.Error; ctx bounds the whole listing.
func (c *Client) List(ctx context.Context, credentials *auth.Credentials, q wire.Query) ([]wire.Ref, error) {
	var refs []wire.Ref
	var err error
	if credentials.SSH != nil {
		refs, err = c.ssh.list(ctx, credentials, q)
	} else {
		refs, err = c.http.list(ctx, credentials, q)
	}
	if err != nil {
		return nil, classify(ctx, err)
	}
	return refs, nil
}

// Close closes all connections that are not in use.
func (c *Client) Close() {
	c.http.close()
	c.ssh.close()
}
