// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/http"
	"strconv"
	"time"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// statusError says what an answer means that is not the one asked for.
func (e *exchange) statusError(response *http.Response) error {
	code := response.StatusCode
	answered := "the server answered " + strconv.Itoa(code)
	wait, asked := retryAfter(response, e.options.Now())
	switch {
	case code == http.StatusOK && page(response):
		return fault.New(fault.Protocol, "the server answered with a web page")
	case code == http.StatusOK:
		return nil
	case code == http.StatusTooManyRequests,
		asked && (code == http.StatusForbidden || code == http.StatusServiceUnavailable):
		return &fault.Error{Kind: fault.Throttled, Detail: answered, RetryAfter: wait}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fault.New(fault.Unauthorized, answered)
	case code == http.StatusProxyAuthRequired:
		return proxyRefused()
	case code == http.StatusNotFound, code == http.StatusGone:
		return fault.New(fault.NotFound, answered)
	case code >= 500:
		return fault.New(fault.ServerFailed, answered)
	case redirects(response):
		return fault.New(fault.Protocol, "the server redirects a request that can't be repeated")
	}
	return fault.New(fault.Protocol, answered)
}

func proxyRefused() error {
	return fault.New(fault.Credentials, "the proxy wants other credentials")
}

// retryAfter reads the header of that name: seconds or a date. It tells whether
// the server asked for a wait at all.
func retryAfter(response *http.Response, now time.Time) (time.Duration, bool) {
	value := response.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return max(0, time.Duration(min(seconds, 1<<30))*time.Second), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
