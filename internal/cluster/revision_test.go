// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestRevision(t *testing.T) {
	t.Parallel()

	hash := strings.Repeat("0a", 20)
	tests := []struct{ name, revision, expected string }{
		{name: "a commit alone", revision: "sha1:" + hash, expected: hash},
		{name: "with a branch", revision: "main@sha1:" + hash, expected: hash},
		{name: "with a branch of several parts", revision: "feature/x@sha1:" + hash, expected: hash},
		{name: "with a name", revision: "refs/heads/main@sha1:" + hash, expected: hash},
		{name: "with a tag", revision: "v1@sha1:" + hash, expected: hash},
		{name: "upper case", revision: "main@sha1:" + strings.ToUpper(hash), expected: hash},
		{name: "the form before Flux 2.0", revision: "main/" + hash, expected: hash},
		{name: "a bare hash", revision: hash, expected: hash},
		{name: "another algorithm", revision: "sha256:" + hash + hash, expected: hash + hash},
		{name: "none", revision: ""},
		{name: "no hash", revision: "main@sha1:"},
		{name: "no hexadecimal digits", revision: "main@sha1:xyz"},
		{name: "a branch alone", revision: "main"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Revision(tt.revision)).To(Equal(fleet.Revision(tt.expected)))
		})
	}
}

func FuzzRevision(f *testing.F) {
	for _, s := range []string{"", "main@sha1:" + strings.Repeat("0a", 20), "a/b/c", ":", "@", "sha1:É", "refs/heads/main@sha1:AB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := Revision(s)
		if again := Revision(string(r)); again != r {
			t.Errorf("%q is %q, and that is %q", s, r, again)
		}
		if strings.Trim(string(r), "0123456789abcdef") != "" {
			t.Errorf("%q is %q", s, r)
		}
		if r != "" && !strings.HasSuffix(strings.ToLower(s), string(r)) {
			t.Errorf("%q does not end in %q", s, r)
		}
	})
}
