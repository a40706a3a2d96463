// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/net/proxy"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// sshPort is where SSH listens unless the URL says otherwise.
const sshPort = "22"

// dialSSH connects and authenticates. The errors are typed, or ctx's own where
// it ended first.
func dialSSH(ctx context.Context, o Options, c *auth.Credentials) (*ssh.Client, error) {
	port := c.URL.Port()
	if port == "" {
		port = sshPort
	}
	address := net.JoinHostPort(c.URL.Hostname(), port)
	conn, err := dialTCP(ctx, c, address)
	if err != nil {
		return nil, ended(ctx, err)
	}
	// The handshake knows no context: closing under it ends it.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	h := &handshake{}
	client, channels, requests, err := ssh.NewClientConn(conn, address, h.config(o, c.SSH))
	if !stop() || err != nil {
		_ = conn.Close()
		return nil, ended(ctx, h.failure(err))
	}
	return ssh.NewClient(client, channels, requests), nil
}

// ended prefers the end of ctx over what it led to. Only typed errors and those
// of ctx leave: others share them.
func ended(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return classify(ctx, err)
}

// dialTCP reaches the host through the source's proxy, else through the one of
// the environment, as go-git does.
func dialTCP(ctx context.Context, c *auth.Credentials, address string) (net.Conn, error) {
	if c.Proxy == nil {
		return proxy.Dial(ctx, "tcp", address)
	}
	dialer, err := proxy.FromURL(c.Proxy, proxy.Direct)
	if err != nil {
		return nil, fault.New(fault.Unsupported, "the proxy's scheme is not supported for SSH")
	}
	through, ok := dialer.(proxy.ContextDialer)
	if !ok {
		return nil, fault.New(fault.Unsupported, "the proxy is not supported for SSH")
	}
	return through.DialContext(ctx, "tcp", address)
}

// handshake notes how far an SSH handshake came, because the library does not
// tell a refused key from other failures by type.
type handshake struct {
	// hostKeyErr is why the host key was refused.
	hostKeyErr error
	// verified is set once the host key was accepted.
	verified bool
}

func (h *handshake) config(o Options, c *auth.SSH) *ssh.ClientConfig {
	config := &ssh.ClientConfig{
		User: c.User,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(c.Signer)},
		HostKeyCallback: func(host string, remote net.Addr, key ssh.PublicKey) error {
			h.hostKeyErr = c.HostKey(host, remote, key)
			h.verified = h.hostKeyErr == nil
			return h.hostKeyErr
		},
		HostKeyAlgorithms: c.HostKeyAlgorithms,
		ClientVersion:     "SSH-2.0-wavefront-controller",
	}
	config.KeyExchanges = o.SSHKexAlgos
	if len(o.SSHHostKeyAlgos) > 0 {
		config.HostKeyAlgorithms = o.SSHHostKeyAlgos
	}
	return config
}

// failure types the error of a handshake.
func (h *handshake) failure(err error) error {
	var unknown *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	var network net.Error
	switch {
	case errors.As(h.hostKeyErr, &revoked):
		return fault.New(fault.HostKey, "the host key is revoked in known_hosts")
	case errors.As(h.hostKeyErr, &unknown) && len(unknown.Want) > 0:
		return fault.New(fault.HostKey, "the host key differs from those in known_hosts")
	case h.hostKeyErr != nil:
		return fault.New(fault.HostKey, "the host is not in known_hosts")
	case errors.As(err, &network), errors.Is(err, io.EOF):
		return err
	case h.verified:
		return fault.New(fault.Unauthorized, "the server refused the key")
	}
	return fault.New(fault.Protocol, "the SSH handshake failed: no SSH server, or no algorithm in common")
}
