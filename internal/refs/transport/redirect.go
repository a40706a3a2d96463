// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// maxRedirects of one discovery, as git has it.
const maxRedirects = 10

// get discovers the repository at base, following redirects as git and go-git
// do: for this request alone, to https or within one scheme, and only to
// something that is again a discovery. base becomes where it was found.
func (e *exchange) get(ctx context.Context, read func(io.Reader) error) error {
	for range maxRedirects + 1 {
		var next *url.URL
		err := e.roundTrip(ctx, func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet,
				address(e.base, discoveryPath)+"?service=git-upload-pack", nil)
		}, func(response *http.Response) (err error) {
			if redirects(response) {
				next, err = target(response)
				return err
			}
			if err := e.statusError(response); err != nil {
				return err
			}
			return read(response.Body)
		})
		if err != nil || next == nil {
			return err
		}
		e.base = next
	}
	return fault.New(fault.Protocol, fmt.Sprintf("more than %d redirects", maxRedirects))
}

func redirects(response *http.Response) bool {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// target returns where the repository is said to be.
func target(response *http.Response) (*url.URL, error) {
	to, err := response.Location()
	if err != nil {
		return nil, fault.New(fault.Protocol, "a redirect leads nowhere")
	}
	from := response.Request.URL
	if to.Scheme != "https" && to.Scheme != from.Scheme {
		return nil, fault.New(fault.Protocol, "a redirect leads to another scheme")
	}
	path, found := strings.CutSuffix(to.Path, discoveryPath)
	if !found {
		return nil, fault.New(fault.Protocol, "a redirect does not lead to a repository")
	}
	return &url.URL{Scheme: to.Scheme, Host: to.Host, Path: path}, nil
}

// sameOrigin tells whether credentials for one URL may be sent to another: host
// and port must be the same.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}
