// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestPublicURL(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, raw, expected string }{
		{name: "nothing to hide", raw: "https://git.example.com/a/b.git", expected: "https://git.example.com/a/b.git"},
		{name: "user and password", raw: "https://u:p@git.example.com/a", expected: "https://git.example.com/a"},
		{name: "the customary SSH user", raw: "ssh://git@git.example.com:22/a", expected: "ssh://git.example.com:22/a"},
		{name: "an at sign in the path stays", raw: "https://git.example.com/a@b", expected: "https://git.example.com/a@b"},
		{name: "what can't be parsed hides all it may hold", raw: "https://u:p/w@git.example.com/a", expected: "https://git.example.com/a"},
		{name: "no scheme", raw: "u:%zz@git.example.com:a", expected: "git.example.com:a"},
		{name: "nothing", raw: "", expected: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(PublicURL(tt.raw)).To(Equal(tt.expected))
		})
	}
}

func TestPublicText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"nothing to hide":               "nothing to hide",
		"main@sha1:abc":                 "main@sha1:abc",
		"at https://host/a@b c@d":       "at https://b c@d",
		"see https://host/repo":         "see https://host/repo",
		"https://u:p@host/repo":         "https://host/repo",
		"'https://u:p@h/a': https://t@": "'https://h/a': https://",
		"unable to clone 'https://user:pa/s'w@ord@host/repo': authentication required by ops@example.com": "unable to clone 'https://host/repo': authentication required by ops@example.com",
		"ssh://git@host\nhttp://u:p@host": "ssh://host\nhttp://host",
		"a://b@c://d@e":                   "a://e",
	} {
		NewWithT(t).Expect(PublicText(text)).To(Equal(want))
	}
}
