// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// Paint colours the name of a state; it must not change the width of the text.
type Paint func(state string) string

// WriteWaves prints the nodes wave by wave.
func (g *Graph) WriteWaves(w io.Writer, paint Paint) error {
	out := &bytes.Buffer{}
	width := widest(g.vertices())
	for i, wave := range g.Waves {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "Wave %d\n", i)
		writeVertices(out, wave, width, paint)
	}
	g.writeCyclic(out, width, paint)
	_, err := out.WriteTo(w)
	return err
}

// widest is the width of the longest name.
func widest(vertices []Vertex) int {
	width := 0
	for _, v := range vertices {
		width = max(width, ansi.StringWidth(escape.Terminal(v.Path())))
	}
	return width
}

func writeVertices(out *bytes.Buffer, vertices []Vertex, width int, paint Paint) {
	for _, v := range vertices {
		name := escape.Terminal(v.Path())
		needs := make([]string, len(v.DependsOn))
		for i, d := range v.DependsOn {
			needs[i] = escape.Terminal(d.Path())
		}
		line := "  " + name + strings.Repeat(" ", width-ansi.StringWidth(name)) + "  " + paint(pad(v.State, 10))
		if len(needs) > 0 {
			line += "  after " + strings.Join(needs, ", ")
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

func pad(s string, width int) string {
	s = escape.Terminal(s)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// writeCyclic lists what can't be ordered.
func (g *Graph) writeCyclic(out *bytes.Buffer, width int, paint Paint) {
	if len(g.Cyclic) == 0 {
		return
	}
	fmt.Fprintln(out, "\nIn or behind a cycle")
	writeVertices(out, g.Cyclic, width, paint)
	for _, c := range g.Cycles {
		fmt.Fprintln(out, "  cycle: "+path(c))
	}
}

func path(cycle []picture.Ref) string {
	parts := make([]string, len(cycle))
	for i, r := range cycle {
		parts[i] = escape.Terminal(r.Path())
	}
	return strings.Join(parts, " -> ")
}

// WriteTree prints the nodes as a tree of dependents under the roots. A node
// with several dependencies stands below the first and is referred to below the
// others.
func (g *Graph) WriteTree(w io.Writer, paint Paint) error {
	out := &bytes.Buffer{}
	t := tree{out: out, paint: paint, dependents: map[picture.Ref][]Vertex{}, shown: map[picture.Ref]bool{}}
	for _, wave := range g.Waves {
		for _, v := range wave {
			for _, d := range v.DependsOn {
				t.dependents[d] = append(t.dependents[d], v)
			}
		}
	}
	if len(g.Waves) > 0 {
		for _, root := range g.Waves[0] {
			t.print(root)
		}
	}
	t.orphans(g)
	g.writeCyclic(out, widest(g.Cyclic), paint)
	_, err := out.WriteTo(w)
	return err
}

type tree struct {
	out        *bytes.Buffer
	paint      Paint
	dependents map[picture.Ref][]Vertex
	shown      map[picture.Ref]bool
}

// frame is a vertex that waits to be printed, with the lead of its line and
// that of its children.
type frame struct {
	vertex      Vertex
	lead, below string
}

// print walks depth first without recursion: a chain may be thousands deep.
func (t *tree) print(root Vertex) {
	stack := []frame{{vertex: root}}
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		line := f.lead + escape.Terminal(f.vertex.Path()) + "  " + t.paint(escape.Terminal(f.vertex.State))
		children := t.dependents[f.vertex.Ref]
		if t.shown[f.vertex.Ref] {
			if len(children) > 0 {
				line += "  (its dependents: above)"
			}
			fmt.Fprintln(t.out, line)
			continue
		}
		t.shown[f.vertex.Ref] = true
		fmt.Fprintln(t.out, line)
		for i := len(children) - 1; i >= 0; i-- {
			lead, below := "├── ", "│   "
			if i == len(children)-1 {
				lead, below = "└── ", "    "
			}
			stack = append(stack, frame{children[i], f.below + lead, f.below + below})
		}
	}
}

// orphans are nodes whose dependencies are not in the picture.
func (t *tree) orphans(g *Graph) {
	for _, wave := range g.Waves {
		for _, v := range wave {
			if !t.shown[v.Ref] {
				t.print(v)
			}
		}
	}
}
