// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Terminal returns s as one printable line: white space becomes a space, and
// everything that a terminal would obey rather than show (escape sequences,
// control and bidirectional characters, invisible ones, broken UTF-8) is
// spelled out, as in \x1b.
func Terminal(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		s = s[size:]
	}
	return b.String()
}

func printable(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Word returns s as one word of a POSIX shell's command line: what a reference calls an
// object by ends up in commands that people copy.
func Word(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(Terminal(s), "'", `'\''`) + "'"
}

// Dot returns s as a quoted string of the dot language, in which nothing is
// interpreted: neither quotes nor its escapes such as \N.
func Dot(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Terminal(s)) + `"`
}

// mermaidPlain are the punctuation marks that mean nothing to mermaid inside a
// quoted label.
const mermaidPlain = " -_./:,@+=()"

// Mermaid returns s as a quoted mermaid label. Everything but letters, digits
// and harmless punctuation becomes an entity code, so that neither markdown,
// HTML, a directive nor a closing quote survives.
func Mermaid(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range Terminal(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(mermaidPlain, r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "#%d;", r)
	}
	b.WriteByte('"')
	return b.String()
}

// XML returns s as character data or attribute value of an XML document.
func XML(s string) string {
	var b strings.Builder
	// A strings.Builder never fails to write.
	_ = xml.EscapeText(&b, []byte(Terminal(s)))
	return b.String()
}

// formulaMarks begin a formula; the wide ones do where East Asian input is on.
const formulaMarks = "=+-@|%＝＋－＠"

// CSV returns s as a cell that no spreadsheet takes for a formula: one that
// would start like a formula gets an apostrophe in front. Quoting is left to
// encoding/csv.
func CSV(s string) string {
	s = Terminal(s)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " "))
	if strings.ContainsRune(formulaMarks, first) {
		return "'" + s
	}
	return s
}

// JSON returns a JSON text with every character that is not printable spelled as
// \u escapes: the encoding itself leaves all above ASCII as it is, control and
// bidirectional characters included.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// Printable tells whether a text of several lines holds nothing that a terminal
// would obey.
func Printable(text []byte) bool {
	for _, r := range string(text) {
		if r != '\n' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
