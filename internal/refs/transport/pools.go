// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
)

const (
	handshakeTimeout = 10 * time.Second
	maxHeaderBytes   = 64 << 10
	maxIdlePerHost   = 64
)

// httpPools keeps one pool of connections for each proxy and TLS identity.
type httpPools struct {
	options Options

	mu    sync.Mutex
	pools map[string]*httpPool
}

// httpPool holds the connections of one identity: at home with its client
// certificate, abroad (where a redirect leads) without.
type httpPool struct {
	home, abroad *http.Client
	used         time.Time
}

func newHTTPPools(o Options) *httpPools {
	return &httpPools{options: o, pools: map[string]*httpPool{}}
}

// client returns the client for credentials; home says that the request goes to
// the host that they are for.
func (p *httpPools) client(c *auth.Credentials, home bool) *http.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.options.Now()
	pool := p.pools[c.Pool]
	if pool == nil {
		p.dropUnused(now)
		pool = &httpPool{home: p.newClient(c, c.HTTP.Certificates), abroad: p.newClient(c, nil)}
		p.pools[c.Pool] = pool
	}
	pool.used = now
	if home {
		return pool.home
	}
	return pool.abroad
}

// dropUnused forgets identities that are not in use any more, as after the
// rotation of a Secret.
func (p *httpPools) dropUnused(now time.Time) {
	for key, pool := range p.pools {
		if now.Sub(pool.used) > 2*idle {
			pool.close()
			delete(p.pools, key)
		}
	}
}

func (p *httpPool) close() {
	p.home.CloseIdleConnections()
	p.abroad.CloseIdleConnections()
}

func (p *httpPools) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, pool := range p.pools {
		pool.close()
		delete(p.pools, key)
	}
}

func (p *httpPools) newClient(c *auth.Credentials, certificates []tls.Certificate) *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			Certificates:       certificates,
			RootCAs:            roots(c.HTTP.CA),
			ClientSessionCache: tls.NewLRUClientSessionCache(maxIdlePerHost),
		},
		TLSHandshakeTimeout:    handshakeTimeout,
		IdleConnTimeout:        idle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
		// All listings of a host share one connection. Where a firewall drops it
		// without a word, each would time out on it until the kernel gives up,
		// which takes a quarter of an hour.
		HTTP2: &http.HTTP2Config{SendPingTimeout: p.options.Silence, PingTimeout: p.options.Silence / 2},
		// A compressed answer would make its limits meaningless.
		DisableCompression: true,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
			if response.StatusCode == http.StatusProxyAuthRequired {
				return proxyRefused()
			}
			return nil
		},
	}
	if c.Proxy != nil {
		transport.Proxy = http.ProxyURL(c.Proxy)
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// roots returns the system's authorities and those of a bundle; nil leaves the
// system's. What can't be read of the bundle is left out, as go-git leaves it
// out.
func roots(bundle []byte) *x509.CertPool {
	if len(bundle) == 0 {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(bundle)
	return pool
}
