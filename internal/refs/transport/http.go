// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

const (
	// userAgent starts as git's own does: some servers offer version 2 to git
	// only.
	userAgent = "git/2 (wavefront-controller)"

	servicePath   = "/git-upload-pack"
	discoveryPath = "/info/refs"

	requestType = "application/x-git-upload-pack-request"
	answerType  = "application/x-git-upload-pack-result"

	// drained is what is still read of an answer that is known, and drainTime how
	// long, so that its connection can be used again.
	drained   = 16 << 10
	drainTime = 250 * time.Millisecond
)

// httpClient lists over HTTP and HTTPS.
type httpClient struct {
	options  Options
	pools    *httpPools
	dialects *dialects
}

func newHTTPClient(o Options) *httpClient {
	return &httpClient{options: o, pools: newHTTPPools(o), dialects: newDialects(o.Now)}
}

func (h *httpClient) close() { h.pools.close() }

// list posts ls-refs straight away, which servers of version 2 answer without a
// discovery. Where that fails in a way that another dialect or address explains,
// it asks the server what it speaks, and remembers that.
func (h *httpClient) list(ctx context.Context, c *auth.Credentials, q wire.Query) ([]wire.Ref, error) {
	e := &exchange{httpClient: h, credentials: c, query: q, base: c.URL}
	known := h.dialects.get(e.key())
	if known.base != nil {
		e.base = known.base
	}
	if known.version == speaksOld {
		refs, err := e.discover(ctx)
		if err != nil {
			h.dialects.forget(e.key())
		}
		return refs, err
	}
	refs, err := e.lsRefs(ctx)
	if err == nil {
		h.dialects.learn(e.key(), dialect{version: speaksV2, base: known.base})
		return refs, nil
	}
	if !otherDialect(err, known) {
		return nil, err
	}
	h.dialects.forget(e.key())
	e.refused = err
	return e.discover(ctx)
}

// otherDialect tells whether a refused request may be explained by an older
// server, or by a repository that is to be found elsewhere.
func otherDialect(err error, known dialect) bool {
	switch fault.KindOf(err) {
	case fault.Protocol, fault.NotFound:
		return true
	case fault.ServerFailed:
		return known.version == speaksUnknown
	default:
		return false
	}
}

// exchange is one listing on its way.
type exchange struct {
	*httpClient
	credentials *auth.Credentials
	query       wire.Query
	// base is where the repository is; it moves with redirects.
	base *url.URL
	// refused is why the request without a discovery failed; nil if it was not
	// made.
	refused error
}

func (e *exchange) key() string { return e.credentials.Pool + " " + e.credentials.URL.String() }

// discover asks what the server speaks. A server of version 0 or 1 answers the
// query with that; of one of version 2 the refs are asked for.
func (e *exchange) discover(ctx context.Context) ([]wire.Ref, error) {
	tried := e.base
	if e.refused != nil {
		e.base = e.credentials.URL
	}
	var found wire.Discovery
	err := e.get(ctx, func(body io.Reader) (err error) {
		found, err = wire.NewReader(body, e.options.Limits).Discover(e.query)
		return err
	})
	if err != nil {
		return nil, err
	}
	learned := dialect{version: speaksOld}
	if e.base != e.credentials.URL {
		learned.base = e.base
	}
	if found.Version != 2 {
		e.dialects.learn(e.key(), learned)
		return found.Refs, nil
	}
	if e.refused != nil && e.base.String() == tried.String() {
		// It speaks version 2 and refused all the same.
		return nil, e.refused
	}
	refs, err := e.lsRefs(ctx)
	if err != nil {
		return nil, err
	}
	learned.version = speaksV2
	e.dialects.learn(e.key(), learned)
	return refs, nil
}

// lsRefs posts the request of version 2.
func (e *exchange) lsRefs(ctx context.Context) ([]wire.Ref, error) {
	var body bytes.Buffer
	if err := wire.WriteRequest(&body, e.query); err != nil {
		return nil, err
	}
	var refs []wire.Ref
	err := e.roundTrip(ctx, func(ctx context.Context) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address(e.base, servicePath), &body)
		if err == nil {
			r.Header.Set("Content-Type", requestType)
			r.Header.Set("Accept", answerType)
		}
		return r, err
	}, func(response *http.Response) (err error) {
		if err := e.statusError(response); err != nil {
			return err
		}
		refs, err = wire.NewReader(response.Body, e.options.Limits).Refs(e.query)
		return err
	})
	return refs, err
}

// address appends a path as git does: to the URL as it is written, query
// included.
func address(base *url.URL, path string) string {
	return strings.TrimSuffix(base.String(), "/") + path
}

// roundTrip makes a request and has its answer read.
func (e *exchange) roundTrip(ctx context.Context, ask func(context.Context) (*http.Request, error), read func(*http.Response) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := ask(ctx)
	if err != nil {
		return fault.New(fault.Unsupported, "spec.url can't be requested")
	}
	request.Header.Set("Git-Protocol", "version=2")
	request.Header.Set("User-Agent", userAgent)
	home := sameOrigin(request.URL, e.credentials.URL)
	if home {
		authorize(request, e.credentials.HTTP)
	}
	response, err := e.pools.client(e.credentials, home).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	err = read(response)
	// An answer that has been read is not worth waiting for its end.
	stop := time.AfterFunc(drainTime, cancel)
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, response.Body, drained)
	return err
}

// authorize sends the credentials with the first request: an anonymous first try
// is throttled by big hosts.
func authorize(r *http.Request, c *auth.HTTP) {
	switch {
	case c.Username != "" || c.Password != "":
		r.SetBasicAuth(c.Username, c.Password)
	case c.BearerToken != "":
		r.Header.Set("Authorization", "Bearer "+c.BearerToken)
	}
}

// page tells whether the answer is meant for a browser.
func page(response *http.Response) bool {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && media == "text/html"
}
