// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// Measures of the drawing, in pixels.
const (
	boxHeight  = 40
	rowGap     = 16
	columnGap  = 90
	margin     = 24
	headHeight = 56
	charWidth  = 7.2
	minBox     = 140
	// maxLabel bounds a label: longer ones are cut, the title holds it all.
	maxLabel = 44
	// legendWidth is the least width of a drawing.
	legendWidth = 620
	// sweeps of the ordering: more hardly change anything.
	sweeps = 4
)

// box is a placed vertex.
type box struct {
	vertex     Vertex
	x, y, w, h float64
}

// WriteSVG draws the graph: a column a wave, roots at the left, rows ordered so
// that few edges cross; what is in or behind a cycle has a column of its own.
func (g *Graph) WriteSVG(w io.Writer, title string) error {
	columns := g.columns()
	boxes, width, height := place(columns)
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n", width, height, width, height)
	fmt.Fprintf(out, "<title>%s</title>\n", escape.XML(title))
	fmt.Fprintln(out, `<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>`)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="#ffffff"/>`)
	fmt.Fprintf(out, "<text x=\"%d\" y=\"20\" font-size=\"14\" font-weight=\"bold\">%s</text>\n", margin, escape.XML(title))
	g.writeHeads(out, columns, boxes)
	writeEdges(out, boxes)
	for _, b := range boxes {
		writeBox(out, b)
	}
	writeLegend(out, height)
	fmt.Fprintln(out, "</svg>")
	_, err := out.WriteTo(w)
	return err
}

// columns orders the vertices of each wave by the mean position of what they
// depend on, and of what depends on them, in turn.
func (g *Graph) columns() [][]Vertex {
	columns := make([][]Vertex, 0, len(g.Waves)+1)
	for _, wave := range g.Waves {
		columns = append(columns, slices.Clone(wave))
	}
	if len(g.Cyclic) > 0 {
		columns = append(columns, slices.Clone(g.Cyclic))
	}
	up, down := map[picture.Ref][]picture.Ref{}, map[picture.Ref][]picture.Ref{}
	for _, column := range columns {
		for _, v := range column {
			up[v.Ref] = v.DependsOn
			for _, d := range v.DependsOn {
				down[d] = append(down[d], v.Ref)
			}
		}
	}
	row := map[picture.Ref]float64{}
	for _, column := range columns {
		number(column, row)
	}
	for range sweeps {
		for i := 1; i < len(columns); i++ {
			reorder(columns[i], up, row)
		}
		for i := len(columns) - 2; i >= 0; i-- {
			reorder(columns[i], down, row)
		}
	}
	return columns
}

// number gives each vertex its place in the column, centred, so that columns of
// different length can be compared.
func number(column []Vertex, row map[picture.Ref]float64) {
	for i, v := range column {
		row[v.Ref] = float64(i) - float64(len(column))/2
	}
}

func reorder(column []Vertex, neighbours map[picture.Ref][]picture.Ref, row map[picture.Ref]float64) {
	mean := make(map[picture.Ref]float64, len(column))
	for _, v := range column {
		sum, n := 0.0, 0
		for _, r := range neighbours[v.Ref] {
			if at, ok := row[r]; ok {
				sum, n = sum+at, n+1
			}
		}
		if mean[v.Ref] = row[v.Ref]; n > 0 {
			mean[v.Ref] = sum / float64(n)
		}
	}
	slices.SortStableFunc(column, func(a, b Vertex) int {
		switch {
		case mean[a.Ref] < mean[b.Ref]:
			return -1
		case mean[a.Ref] > mean[b.Ref]:
			return 1
		}
		return 0
	})
	number(column, row)
}

// place puts the boxes, and returns the size of the drawing.
func place(columns [][]Vertex) (boxes []box, width, height float64) {
	tallest := 0
	for _, c := range columns {
		tallest = max(tallest, len(c))
	}
	full := float64(tallest)*(boxHeight+rowGap) - rowGap
	x := float64(margin)
	for _, column := range columns {
		w := float64(minBox)
		for _, v := range column {
			w = max(w, float64(utf8.RuneCountInString(label(v)))*charWidth+20)
		}
		free := full - (float64(len(column))*(boxHeight+rowGap) - rowGap)
		for i, v := range column {
			y := headHeight + free/2 + float64(i)*(boxHeight+rowGap)
			boxes = append(boxes, box{v, x, y, w, boxHeight})
		}
		x += w + columnGap
	}
	width = max(x-columnGap+margin, legendWidth)
	if len(columns) > 0 && hasInnerEdge(columns[len(columns)-1]) {
		width = max(width, x+margin)
	}
	return boxes, width, headHeight + max(full, 0) + 2*margin + 20
}

// hasInnerEdge tells whether edges bulge out at the right of the column.
func hasInnerEdge(column []Vertex) bool {
	at := index(column)
	for _, v := range column {
		for _, d := range v.DependsOn {
			if _, ok := at[d]; ok {
				return true
			}
		}
	}
	return false
}

func label(v Vertex) string {
	s := escape.Terminal(v.Path())
	if r := []rune(s); len(r) > maxLabel {
		return string(r[:maxLabel-1]) + "…"
	}
	return s
}

func (g *Graph) writeHeads(out *bytes.Buffer, columns [][]Vertex, boxes []box) {
	n := 0
	for i, column := range columns {
		if len(column) == 0 {
			continue
		}
		head := fmt.Sprintf("Wave %d", i)
		if i >= len(g.Waves) {
			head = "In or behind a cycle"
		}
		fmt.Fprintf(out, "<text x=\"%.1f\" y=\"44\" fill=\"#57606a\">%s</text>\n", boxes[n].x, head)
		n += len(column)
	}
}

// writeEdges draws from each dependency's right side to its dependent's left.
func writeEdges(out *bytes.Buffer, boxes []box) {
	at := make(map[picture.Ref]box, len(boxes))
	for _, b := range boxes {
		at[b.vertex.Ref] = b
	}
	fmt.Fprintln(out, `<g fill="none" stroke="#57606a" stroke-width="1.2" marker-end="url(#tip)">`)
	for _, to := range boxes {
		for _, d := range to.vertex.DependsOn {
			from, ok := at[d]
			if !ok {
				continue
			}
			writeEdge(out, from, to)
		}
	}
	fmt.Fprintln(out, "</g>")
}

// writeEdge bends from right to left side; between boxes of one column it stays
// at the right of both.
func writeEdge(out *bytes.Buffer, from, to box) {
	x1, y1, x2, y2 := from.x+from.w, from.y+from.h/2, to.x, to.y+to.h/2
	bend := max((x2-x1)/2, columnGap/2)
	c1, c2 := x1+bend, x2-bend
	if from.x == to.x {
		x2 = to.x + to.w
		c2 = x2 + bend
	}
	fmt.Fprintf(out, "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", x1, y1, c1, y1, c2, y2, x2, y2)
}

func writeBox(out *bytes.Buffer, b box) {
	c := colorOf(b.vertex.State)
	dash := ""
	if b.vertex.Role == "Gate" {
		dash = ` stroke-dasharray="5 3"`
	}
	fmt.Fprintf(out, "<g><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" fill=\"%s\" stroke=\"%s\"%s/>",
		escape.XML(b.vertex.String()+": "+b.vertex.State), b.x, b.y, b.w, b.h, c[0], c[1], dash)
	fmt.Fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text><text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"%s\">%s</text></g>\n",
		b.x+10, b.y+17, escape.XML(label(b.vertex)), b.x+10, b.y+32, c[1], escape.XML(b.vertex.State))
}

func writeLegend(out *bytes.Buffer, height float64) {
	x, y := float64(margin), height-margin
	for _, s := range states {
		c := colorOf(s)
		fmt.Fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\" stroke=\"%s\"/><text x=\"%.1f\" y=\"%.1f\" font-size=\"11\">%s</text>\n",
			x, y, c[0], c[1], x+18, y+10, s)
		x += 96
	}
	fmt.Fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" fill=\"#57606a\">dashed: gate</text>\n", x, y+10)
}
