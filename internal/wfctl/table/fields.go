// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bufio"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Fields is a list of named values; a field may have several lines.
type Fields struct {
	rows []field
}

type field struct {
	name  string
	lines []Cell
}

// Add appends a field. Without a value it shows a dash.
func (f *Fields) Add(name string, lines ...Cell) {
	if len(lines) == 0 {
		lines = []Cell{{}}
	}
	f.rows = append(f.rows, field{name, lines})
}

// AddText appends a field without a style.
func (f *Fields) AddText(name string, lines ...string) { f.Add(name, Text(lines...)...) }

// Write prints the fields, values aligned, each made harmless.
func (f *Fields) Write(w io.Writer, color bool) error {
	out := bufio.NewWriter(w)
	width := 0
	for _, r := range f.rows {
		width = max(width, ansi.StringWidth(r.name)+1)
	}
	for _, r := range f.rows {
		name := r.name + ":"
		for _, line := range r.lines {
			pad := strings.Repeat(" ", width-ansi.StringWidth(name))
			_, _ = out.WriteString(Paint(name, nameStyle(name), color) + pad + "  " + Paint(show(line.Text), line.Style, color) + "\n")
			name = ""
		}
	}
	return out.Flush()
}

func nameStyle(name string) Style {
	if name == "" {
		return Plain
	}
	return Bold
}
