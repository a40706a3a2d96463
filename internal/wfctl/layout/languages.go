// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// WriteDot prints the graph in the dot language. Arrows point the way that
// updates travel: from a dependency to its dependents.
func (g *Graph) WriteDot(w io.Writer) error {
	out := &bytes.Buffer{}
	all := g.vertices()
	at := index(all)
	fmt.Fprintln(out, "digraph wavefront {")
	fmt.Fprintln(out, "  rankdir=LR;")
	fmt.Fprintln(out, `  node [shape=box, style="rounded,filled", fontname="sans-serif"];`)
	n := 0
	for i, wave := range g.Waves {
		fmt.Fprintf(out, "  subgraph wave%d {\n    rank=same;\n", i)
		n = writeDotVertices(out, wave, n)
		fmt.Fprintln(out, "  }")
	}
	if len(g.Cyclic) > 0 {
		fmt.Fprintln(out, "  subgraph cluster_cyclic {\n    label=\"in or behind a cycle\";")
		writeDotVertices(out, g.Cyclic, n)
		fmt.Fprintln(out, "  }")
	}
	absent := absentNodes(all)
	for i, name := range absent {
		fmt.Fprintf(out, "  a%d [label=%s, style=dashed];\n", i, escape.Dot(name))
	}
	for i, v := range all {
		for _, d := range v.DependsOn {
			from, ok := at[d]
			if !ok {
				fmt.Fprintf(out, "  a%d -> n%d;\n", position(absent, d.String()), i)
				continue
			}
			fmt.Fprintf(out, "  n%d -> n%d;\n", from, i)
		}
	}
	fmt.Fprintln(out, "}")
	_, err := out.WriteTo(w)
	return err
}

func writeDotVertices(out *bytes.Buffer, vertices []Vertex, n int) int {
	for _, v := range vertices {
		c := colorOf(v.State)
		// The line break is dot's own escape, between two escaped parts.
		label := strings.TrimSuffix(escape.Dot(v.Path()), `"`) + `\n` + strings.TrimPrefix(escape.Dot(v.State), `"`)
		fmt.Fprintf(out, "    n%d [label=%s, fillcolor=%q, color=%q];\n", n, label, c[0], c[1])
		n++
	}
	return n
}

// WriteMermaid prints the graph as a mermaid flow chart.
func (g *Graph) WriteMermaid(w io.Writer) error {
	out := &bytes.Buffer{}
	all := g.vertices()
	at := index(all)
	fmt.Fprintln(out, "flowchart LR")
	for i, v := range all {
		fmt.Fprintf(out, "  n%d[%s]\n", i, escape.Mermaid(v.Path()+" ("+v.State+")"))
	}
	absent := absentNodes(all)
	for i, name := range absent {
		fmt.Fprintf(out, "  a%d[%s]\n", i, escape.Mermaid(name+" (absent)"))
	}
	for i, v := range all {
		for _, d := range v.DependsOn {
			if from, ok := at[d]; ok {
				fmt.Fprintf(out, "  n%d --> n%d\n", from, i)
				continue
			}
			fmt.Fprintf(out, "  a%d --> n%d\n", position(absent, d.String()), i)
		}
	}
	for i, state := range states {
		var members []string
		for j, v := range all {
			if v.State == state {
				members = append(members, fmt.Sprintf("n%d", j))
			}
		}
		if len(members) > 0 {
			c := colorOf(state)
			fmt.Fprintf(out, "  classDef s%d fill:%s,stroke:%s\n  class %s s%d\n", i, c[0], c[1], strings.Join(members, ","), i)
		}
	}
	_, err := out.WriteTo(w)
	return err
}

// absentNodes are the dependencies that the picture does not hold, in the order
// in which they are met.
func absentNodes(all []Vertex) []string {
	at := index(all)
	var out []string
	met := map[string]bool{}
	for _, v := range all {
		for _, d := range v.DependsOn {
			if _, ok := at[d]; !ok && !met[d.String()] {
				met[d.String()] = true
				out = append(out, d.String())
			}
		}
	}
	return out
}

func position(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}
