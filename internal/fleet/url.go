// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/url"
	"strings"
	"unicode"
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

// PublicText returns a text without user information in the URLs that it quotes:
// source-controller, for one, says what it can't clone by the URL as it is written.
func PublicText(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	var public strings.Builder
	for {
		before, rest, more := strings.Cut(text, "://")
		public.WriteString(before)
		if !more {
			return public.String()
		}
		public.WriteString("://")
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		// As with a URL that can't be parsed: better to lose part of a path.
		text = rest[strings.LastIndex(rest[:end], "@")+1:]
	}
}
