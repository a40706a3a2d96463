// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bufio"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// Style of a cell.
type Style string

// Styles, as the parameter of an SGR sequence.
const (
	Plain Style = ""
	Bold  Style = "1"
	Faint Style = "2"
	Good  Style = "32"
	Busy  Style = "36"
	Warn  Style = "33"
	Bad   Style = "31"
)

// Cell is one value with its style.
type Cell struct {
	Text  string
	Style Style
}

// Text returns cells without a style.
func Text(values ...string) []Cell {
	cells := make([]Cell, len(values))
	for i, v := range values {
		cells[i].Text = v
	}
	return cells
}

// gap between two columns.
const gap = "   "

// Table of rows under a header.
type Table struct {
	Header []string
	Rows   [][]Cell
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Write prints the table. Cells are made harmless here; an empty one shows as
// a dash.
func (t *Table) Write(w io.Writer, color bool) error {
	out := bufio.NewWriter(w)
	widths := make([]int, len(t.Header))
	for i, h := range t.Header {
		widths[i] = ansi.StringWidth(h)
	}
	rows := make([][]Cell, len(t.Rows))
	for r, row := range t.Rows {
		rows[r] = make([]Cell, len(row))
		for i, c := range row {
			rows[r][i] = Cell{Text: show(c.Text), Style: c.Style}
			widths[i] = max(widths[i], ansi.StringWidth(rows[r][i].Text))
		}
	}
	header := make([]Cell, len(t.Header))
	for i, h := range t.Header {
		header[i] = Cell{Text: h, Style: Bold}
	}
	writeRow(out, header, widths, color)
	for _, row := range rows {
		writeRow(out, row, widths, color)
	}
	return out.Flush()
}

func show(s string) string {
	if s = strings.TrimSpace(escape.Terminal(s)); s == "" {
		return "-"
	}
	return s
}

// writeRow pads by display width; the last cell is not padded.
func writeRow(w *bufio.Writer, row []Cell, widths []int, color bool) {
	for i, c := range row {
		_, _ = w.WriteString(Paint(c.Text, c.Style, color))
		if i < len(row)-1 {
			_, _ = w.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(c.Text)) + gap)
		}
	}
	_ = w.WriteByte('\n')
}

// Paint returns text in the style, where color is set. It does not escape.
func Paint(text string, style Style, color bool) string {
	if !color || style == Plain {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
