// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"net/http"
)

// Transport wraps the way to the API server so that no change is sent, not even a
// second time, once check fails. A check before the write is not enough: the client
// waits below it, for its own rate limit and for as long as a busy server asks to,
// and repeats the request up to ten times.
func Transport(check func() error) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return &guarded{next: next, check: check}
	}
}

type guarded struct {
	next  http.RoundTripper
	check func() error
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := g.check(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, err
		}
	}
	return g.next.RoundTrip(r)
}

// WrappedRoundTripper lets Kubernetes' clients find what is below.
func (g *guarded) WrappedRoundTripper() http.RoundTripper { return g.next }
