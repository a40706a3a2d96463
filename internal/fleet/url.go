// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/url"
	"strings"
)

// PublicURL returns a git URL without user information, fit to be written down
// and printed. Two URLs that differ in nothing else name the same repository.
func PublicURL(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Opaque == "" {
		u.User = nil
		return u.String()
	}
	// What can't be parsed is cut at the last "@", wherever that is: better to
	// lose part of a path than to print a password.
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw[strings.LastIndex(raw, "@")+1:]
	}
	return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
}
