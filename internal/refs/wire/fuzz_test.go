// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

var sha1 = regexp.MustCompile(`^[0-9a-f]{40}$`)

var fuzzed = wire.Query{Names: []string{"refs/heads/main", "refs/tags/v1", "HEAD"}}

// checkAnswer holds what must be true of every answer, whatever was read.
func checkAnswer(t *testing.T, refs []wire.Ref, err error) {
	t.Helper()
	if err != nil && fault.KindOf(err) == "" {
		t.Fatalf("not typed: %v", err)
	}
	seen := map[string]bool{}
	for _, r := range refs {
		if r.Name != "refs/heads/main" && r.Name != "refs/tags/v1" && r.Name != "HEAD" || seen[r.Name] {
			t.Fatalf("not asked for, or twice: %q", r.Name)
		}
		seen[r.Name] = true
		if !sha1.MatchString(r.Hash) || r.Peeled != "" && !sha1.MatchString(r.Peeled) {
			t.Fatalf("not a hash: %q %q", r.Hash, r.Peeled)
		}
	}
}

func FuzzRefs(f *testing.F) {
	f.Add([]byte(lines(one+" refs/heads/main\n", two+" refs/tags/v1 peeled:"+three+"\n", "")))
	f.Add([]byte(lines(one+" HEAD symref-target:refs/heads/main\n", "unborn HEAD\n", "")))
	f.Add([]byte("fff0" + strings.Repeat("0", 100)))
	f.Fuzz(func(t *testing.T, answer []byte) {
		refs, err := wire.NewReader(bytes.NewReader(answer), wire.Limits{Bytes: 1 << 16, Lines: 100}).Refs(fuzzed)
		checkAnswer(t, refs, err)
	})
}

func FuzzDiscover(f *testing.F) {
	f.Add([]byte(lines("# service=git-upload-pack\n", "", one+" HEAD\x00symref=HEAD:refs/heads/main\n", two+" refs/tags/v1\n", three+" refs/tags/v1^{}\n", "")))
	f.Add([]byte(lines("version 2\n", "ls-refs=unborn\n", "object-format=sha1\n", "")))
	f.Add([]byte(lines("version 1\n", one+" refs/heads/main\x00\n", "")))
	f.Fuzz(func(t *testing.T, answer []byte) {
		d, err := wire.NewReader(bytes.NewReader(answer), wire.Limits{Bytes: 1 << 16, Lines: 100}).Discover(fuzzed)
		checkAnswer(t, d.Refs, err)
	})
}
