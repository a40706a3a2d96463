// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"encoding/json"
	"encoding/xml"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	. "github.com/onsi/gomega"
)

const hostile = "a\x1b[31m\"];\n<script>%%{init}%%\u202e\\N`b`\x9b\xff"

func TestLanguages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		f    func(string) string
		in   string
		want string
	}{
		{"plain stays", Terminal, "flotillas/team-é 1.2", "flotillas/team-é 1.2"},
		{"escape sequence", Terminal, "\x1b]0;owned\x07", `\x1b]0;owned\a`},
		{"C1 control", Terminal, "\u009b31m", `\u009b31m`},
		{"broken UTF-8", Terminal, "a\xff\x9b", `a\xff\x9b`},
		{"replacement character itself", Terminal, "a\ufffd", "a\ufffd"},
		{"bidirectional override", Terminal, "ab\u202ecd", `ab\u202ecd`},
		{"zero width", Terminal, "a\u200bb", `a\u200bb`},
		{"line breaks", Terminal, "a\nb\r\tc", "a b  c"},
		{"dot quote", Dot, `a"]; b [x="`, `"a\"]; b [x=\""`},
		{"dot backslash", Dot, `a\N\`, `"a\\N\\"`},
		{"mermaid quote and markup", Mermaid, "a\"]<b>`", `"a#34;#93;#60;b#62;#96;"`},
		{"mermaid directive", Mermaid, `%%{init: x}%%`, `"#37;#37;#123;init: x#125;#37;#37;"`},
		{"mermaid entity", Mermaid, `#quot;`, `"#35;quot#59;"`},
		{"xml", XML, `<a b="&">'`, `&lt;a b=&#34;&amp;&#34;&gt;&#39;`},
		{"csv formula", CSV, `=HYPERLINK("x")`, `'=HYPERLINK("x")`},
		{"csv plus, minus, at", CSV, `@SUM(A1)`, `'@SUM(A1)`},
		{"csv behind white space", CSV, "\t-1", `' -1`},
		{"csv wide formula", CSV, "＝1+1", "'＝1+1"},
		{"csv empty", CSV, "", ""},
		{"csv plain", CSV, "2026-01-02", "2026-01-02"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(tt.f(tt.in)).To(Equal(tt.want))
		})
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"https://git.example.com/a/b.git", "https://git.example.com/a/b.git"},
		{"https://user:s3cret@git.example.com/a", "https://git.example.com/a"},
		{"ssh://git@git.example.com:2222/a", "ssh://git.example.com:2222/a"},
		{"https://git.example.com/a?access_token=s3cret#f", "https://git.example.com/a"},
		{"git@git.example.com:a/b", "git.example.com:a/b"},
		{"https://us er:s3cret@host/%zz", "host/%zz"},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(URL(tt.in)).To(Equal(tt.want))
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"failed to clone 'https://u:p@h/r': x", "failed to clone 'https://h/r': x"},
		{"GET https://h/r?token=abc: 401", "GET https://h/r 401"},
		{"https://a:b@c:d@h/r", "https://h/r"},
		{"header Authorization: Bearer abcdefghijkl refused", "header Bearer [redacted] refused"},
		{"dependency 'flux-system/infra' is not ready", "dependency 'flux-system/infra' is not ready"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Text(tt.in)).To(Equal(tt.want))
		})
	}
}

// FuzzLanguages holds what every reader of the outputs relies on, for any input.
func FuzzLanguages(f *testing.F) {
	f.Add(hostile)
	f.Add("=1+1")
	f.Add("https://u:p@h/?t=1")
	f.Fuzz(func(t *testing.T, s string) {
		g := NewWithT(t)
		for _, r := range Terminal(s) {
			g.Expect(unicode.IsPrint(r)).To(BeTrue(), "rune %U", r)
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(Mermaid(s), `"`), `"`)
		g.Expect(inner).NotTo(ContainSubstring(`"`))
		g.Expect(inner).NotTo(MatchRegexp("[<>%{}`\\[\\]]"))
		var text string
		g.Expect(xml.Unmarshal([]byte("<t>"+XML(s)+"</t>"), &text)).To(Succeed())
		g.Expect(CSV(s)).NotTo(MatchRegexp(`^\s*[=+@|%＝＋－＠-]`))
		encoded, err := json.Marshal(s)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(Printable(JSON(encoded))).To(BeTrue())
		var before, after string
		g.Expect(json.Unmarshal(encoded, &before)).To(Succeed())
		g.Expect(json.Unmarshal(JSON(encoded), &after)).To(Succeed())
		g.Expect(after).To(Equal(before))
		g.Expect(unquoteDot(Dot(s))).To(Equal(Terminal(s)))
	})
}

// unquoteDot reads a dot string as Graphviz does and returns its label.
func unquoteDot(s string) string {
	body := s[1 : len(s)-1]
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(body)
}

func TestWord(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Word("apps/db-1.2")).To(Equal("apps/db-1.2"))
	g.Expect(Word("")).To(Equal("''"))
	for _, hostile := range []string{"a; rm -rf /", "$(id)", "`id`", "it's", "a\\b", "a*", "~", "näme"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+Word(hostile)).Output()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(out)).To(Equal(hostile))
	}
	g.Expect(Word("a\x1b[2J")).To(Equal(`'a\x1b[2J'`), "nothing that a terminal obeys")
}
