// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	// userinfo of a URL inside a text, up to the last @ before a slash or space.
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/]*@`)
	// query of a URL inside a text: tokens travel there.
	query = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s'"?#]*)[?#][^\s'"]*`)
	// authorization catches header values that libraries put in their errors.
	authorization = regexp.MustCompile(`(?i)\b(authorization:\s*)?(basic|bearer|token)\s+[a-z0-9+/=._~-]{8,}`)
)

// URL returns s without what may be secret in it: user information, query and
// fragment. A string that is no URL loses everything before its last @.
func URL(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" {
		if i := strings.LastIndexByte(s, '@'); i >= 0 {
			s = s[i+1:]
		}
		return strings.TrimSpace(strings.SplitN(s, "?", 2)[0])
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	return u.String()
}

// Text returns s with the same taken out of every URL in it, and with what
// looks like a credential of an HTTP header replaced. Messages of conditions
// and events repeat URLs as they stand in a spec.
func Text(s string) string {
	s = userinfo.ReplaceAllString(s, "$1")
	s = query.ReplaceAllString(s, "$1")
	return authorization.ReplaceAllString(s, "$2 [redacted]")
}
