// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

const (
	one   = "1111111111111111111111111111111111111111"
	two   = "2222222222222222222222222222222222222222"
	three = "3333333333333333333333333333333333333333"
	flush = "0000"
)

// lines renders packet-lines; "" is a flush.
func lines(payloads ...string) string {
	var b strings.Builder
	for _, p := range payloads {
		if p == "" {
			b.WriteString(flush)
			continue
		}
		fmt.Fprintf(&b, "%04x%s", len(p)+4, p)
	}
	return b.String()
}

func main(names ...string) wire.Query { return wire.Query{Names: names} }

func TestWriteRequest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var b bytes.Buffer
	g.Expect(wire.WriteRequest(&b, main("refs/heads/main", "refs/heads/next"))).To(Succeed())
	g.Expect(b.String()).To(Equal("0014command=ls-refs\n0001" +
		lines("peel\n", "symrefs\n", "ref-prefix refs/heads/main\n", "ref-prefix refs/heads/next\n", "")))
}

func TestRefs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer string
		query  wire.Query
		want   []wire.Ref
		kind   fault.Kind
	}{
		{
			name:   "the ref among others with its prefix",
			answer: lines(one+" refs/heads/main\n", two+" refs/heads/main-2\n", ""),
			query:  main("refs/heads/main"),
			want:   []wire.Ref{{Name: "refs/heads/main", Hash: one}},
		},
		{
			name:   "peeled tag and symbolic HEAD",
			answer: lines(one+" HEAD symref-target:refs/heads/main\n", two+" refs/tags/v1 peeled:"+three+"\n", ""),
			query:  main("HEAD", "refs/tags/v1"),
			want: []wire.Ref{
				{Name: "HEAD", Hash: one, Target: "refs/heads/main"},
				{Name: "refs/tags/v1", Hash: two, Peeled: three},
			},
		},
		{
			name:   "what follows the answer is not read",
			answer: lines(one+" refs/heads/main\n") + "garbage",
			query:  main("refs/heads/main"),
			want:   []wire.Ref{{Name: "refs/heads/main", Hash: one}},
		},
		{
			name:   "a name that comes twice",
			answer: lines(one+" refs/heads/a\n", two+" refs/heads/a\n", two+" refs/heads/b\n", ""),
			query:  main("refs/heads/a", "refs/heads/b"),
			want:   []wire.Ref{{Name: "refs/heads/a", Hash: one}, {Name: "refs/heads/b", Hash: two}},
		},
		{name: "missing", answer: lines(two+" refs/heads/main-2\n", ""), query: main("refs/heads/main")},
		{name: "empty repository", answer: flush, query: main("refs/heads/main")},
		{name: "unborn HEAD", answer: lines("unborn HEAD symref-target:refs/heads/main\n", ""), query: main("HEAD")},
		{
			name:   "all below a prefix",
			answer: lines(one+" refs/heads/a\n", two+" refs/heads/b\n", three+" refs/tags/c\n", ""),
			query:  wire.Query{Prefix: "refs/heads/", Most: 2},
			want:   []wire.Ref{{Name: "refs/heads/a", Hash: one}, {Name: "refs/heads/b", Hash: two}},
		},
		{
			name:   "more than wanted below a prefix",
			answer: lines(one+" refs/heads/a\n", two+" refs/heads/b\n", ""),
			query:  wire.Query{Prefix: "refs/heads/", Most: 1}, kind: fault.TooLarge,
		},
		{name: "no answer", answer: "", query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "no end", answer: lines(two + " refs/heads/x\n"), query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "cut within a length", answer: "00", query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "cut within a line", answer: "0040" + one, query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "HTML", answer: "<!DOCTYPE html>", query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "error line", answer: lines("ERR token abc is bad\n"), query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "too long a line", answer: "fff5" + strings.Repeat("a", 0xfff1), query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "upper case", answer: lines(strings.Repeat("A", 40)+" refs/heads/main\n", ""), query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "short hash", answer: lines("abc refs/heads/main\n", ""), query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "bad peeled hash", answer: lines(one+" refs/heads/main peeled:xyz\n", ""), query: main("refs/heads/main"), kind: fault.Protocol},
		{name: "SHA-256", answer: lines(strings.Repeat("a", 64)+" refs/heads/main\n", ""), query: main("refs/heads/main"), kind: fault.Unsupported},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			refs, err := wire.NewReader(strings.NewReader(tt.answer), wire.DefaultLimits).Refs(tt.query)
			g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
			g.Expect(err == nil).To(Equal(tt.kind == ""))
			g.Expect(refs).To(Equal(tt.want))
			if err != nil {
				g.Expect(err.Error()).NotTo(ContainSubstring("abc"))
			}
		})
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	service := lines("# service=git-upload-pack\n", "")
	advertised := lines(one+" HEAD\x00multi_ack symref=HEAD:refs/heads/main object-format=sha1 agent=git/2\n",
		one+" refs/heads/main\n", two+" refs/tags/v1\n", three+" refs/tags/v1^{}\n", "")
	tests := []struct {
		name   string
		answer string
		query  wire.Query
		want   wire.Discovery
		kind   fault.Kind
	}{
		{
			name: "version 0 over HTTP", answer: service + advertised, query: main("refs/heads/main"),
			want: wire.Discovery{Refs: []wire.Ref{{Name: "refs/heads/main", Hash: one}}},
		},
		{
			name: "version 1", answer: lines("version 1\n") + advertised, query: main("refs/heads/main"),
			want: wire.Discovery{Version: 1, Refs: []wire.Ref{{Name: "refs/heads/main", Hash: one}}},
		},
		{
			name: "symbolic HEAD and peeled tag", answer: advertised, query: main("HEAD", "refs/tags/v1"),
			want: wire.Discovery{Refs: []wire.Ref{
				{Name: "HEAD", Hash: one, Target: "refs/heads/main"},
				{Name: "refs/tags/v1", Hash: two, Peeled: three},
			}},
		},
		{
			name: "stops at the branch", answer: lines(one+" refs/heads/main\x00caps\n") + "garbage",
			query: main("refs/heads/main"),
			want:  wire.Discovery{Refs: []wire.Ref{{Name: "refs/heads/main", Hash: one}}},
		},
		{
			name: "stops behind the tag", answer: lines(one+" refs/tags/a\x00caps\n", two+" refs/tags/b\n") + "garbage",
			query: main("refs/tags/a"),
			want:  wire.Discovery{Refs: []wire.Ref{{Name: "refs/tags/a", Hash: one}}},
		},
		{name: "missing", answer: advertised, query: main("refs/heads/other")},
		{name: "empty", answer: service + flush, query: main("refs/heads/main")},
		{
			name:   "empty with capabilities",
			answer: service + lines(strings.Repeat("0", 40)+" capabilities^{}\x00multi_ack\n", ""), query: main("refs/heads/main"),
		},
		{
			name:   "shallow repository",
			answer: lines(one+" refs/heads/a\x00caps\n", "shallow "+two+"\n", two+" refs/heads/main\n", ""), query: main("refs/heads/main"),
			want: wire.Discovery{Refs: []wire.Ref{{Name: "refs/heads/main", Hash: two}}},
		},
		{
			name:   "version 2 over HTTP",
			answer: service + lines("version 2\n", "agent=git/2\n", "ls-refs=unborn\n", "object-format=sha1\n", ""),
			query:  main("refs/heads/main"), want: wire.Discovery{Version: 2},
		},
		{
			name: "version 2 without a service line", answer: lines("version 2\n", "ls-refs\n", ""),
			query: main("refs/heads/main"), want: wire.Discovery{Version: 2},
		},
		{name: "version 2 without ls-refs", answer: lines("version 2\n", "fetch\n", ""), want: wire.Discovery{Version: 2}, kind: fault.Unsupported},
		{
			name:   "version 2 with SHA-256",
			answer: lines("version 2\n", "ls-refs\n", "object-format=sha256\n", ""), want: wire.Discovery{Version: 2}, kind: fault.Unsupported,
		},
		{name: "version 0 with SHA-256", answer: lines(strings.Repeat("a", 64)+" HEAD\x00object-format=sha256\n", ""), kind: fault.Unsupported},
		{name: "dumb server", answer: one + "\trefs/heads/main\n", kind: fault.Protocol},
		{name: "HTML", answer: "<html>", kind: fault.Protocol},
		{name: "nothing", answer: "", kind: fault.Protocol},
		{name: "version 1 and nothing", answer: lines("version 1\n"), want: wire.Discovery{}, kind: fault.Protocol},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d, err := wire.NewReader(strings.NewReader(tt.answer), wire.DefaultLimits).Discover(tt.query)
			g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
			g.Expect(err == nil).To(Equal(tt.kind == ""))
			g.Expect(d).To(Equal(tt.want))
		})
	}
}

// endless repeats one line for ever.
type endless struct {
	line string
	at   int
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.line[e.at:])
	e.at = (e.at + n) % len(e.line)
	e.read += int64(n)
	return n, nil
}

func TestLimits(t *testing.T) {
	t.Parallel()
	limits := wire.Limits{Bytes: 1 << 20, Lines: 10_000}
	tests := []struct {
		name string
		line string
	}{
		{name: "many short lines", line: lines(two + " refs/heads/x\n")},
		{name: "few huge lines", line: lines(two + " refs/heads/" + strings.Repeat("x", 65_000))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := &endless{line: tt.line}
			_, err := wire.NewReader(in, limits).Refs(main("refs/heads/main"))
			g.Expect(fault.KindOf(err)).To(Equal(fault.TooLarge))
			g.Expect(in.read).To(BeNumerically("<=", limits.Bytes))
			_, err = wire.NewReader(&endless{line: tt.line}, limits).Discover(main("refs/heads/main"))
			g.Expect(fault.KindOf(err)).To(Equal(fault.TooLarge))
		})
	}
}

func TestReaderError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	broken := errors.New("connection lost")
	in := io.MultiReader(strings.NewReader(lines(two+" refs/heads/x\n")), &failing{broken})
	_, err := wire.NewReader(in, wire.DefaultLimits).Refs(main("refs/heads/main"))
	g.Expect(err).To(MatchError(broken))
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }
