// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"slices"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// Graph is what is drawn.
type Graph struct {
	// Waves hold the nodes that can be ordered, roots first.
	Waves [][]Vertex `json:"waves"`
	// Cyclic are the nodes in or behind a cycle.
	Cyclic []Vertex `json:"cyclic,omitempty"`
	// Cycles holds one path for each cycle, first node repeated.
	Cycles [][]picture.Ref `json:"cycles,omitempty"`
}

// Vertex of the graph.
type Vertex struct {
	picture.Ref `json:",inline"`
	State       string `json:"state"`
	Role        string `json:"role"`
	// DependsOn are the edges; those to nodes that are not in the picture are
	// kept.
	DependsOn []picture.Ref `json:"dependsOn,omitempty"`
}

// Of returns the graph of a picture.
func Of(p *picture.Picture) *Graph {
	g := &Graph{Waves: [][]Vertex{}, Cycles: p.Cycles}
	for _, n := range p.Nodes {
		v := Vertex{Ref: n.Ref, State: n.State, Role: n.Role, DependsOn: slices.Clone(n.DependsOn)}
		slices.SortFunc(v.DependsOn, picture.Ref.Compare)
		if n.Wave < 0 {
			g.Cyclic = append(g.Cyclic, v)
			continue
		}
		// A wave is at most the number of nodes: a snapshot may claim more.
		wave := min(n.Wave, len(p.Nodes)-1)
		for len(g.Waves) <= wave {
			g.Waves = append(g.Waves, []Vertex{})
		}
		g.Waves[wave] = append(g.Waves[wave], v)
	}
	return g
}

// vertices returns all vertices in the order of the waves, cyclic ones last.
func (g *Graph) vertices() []Vertex {
	var all []Vertex
	for _, w := range g.Waves {
		all = append(all, w...)
	}
	return append(all, g.Cyclic...)
}

// index numbers the vertices in the order of vertices.
func index(all []Vertex) map[picture.Ref]int {
	at := make(map[picture.Ref]int, len(all))
	for i, v := range all {
		at[v.Ref] = i
	}
	return at
}

// colors of the states: fill and line, dark enough to be told apart in print.
var colors = map[string][2]string{
	"Settled":    {"#dcf5e0", "#1a7f37"},
	"Converging": {"#ddeefc", "#0969da"},
	"Admissible": {"#e3dcfa", "#6639ba"},
	"Pending":    {"#fff3cf", "#9a6700"},
	"Unhealthy":  {"#ffdcd8", "#cf222e"},
}

var otherColor = [2]string{"#eeeeee", "#57606a"}

func colorOf(state string) [2]string {
	if c, ok := colors[state]; ok {
		return c
	}
	return otherColor
}

// states in the order of a legend.
var states = []string{"Settled", "Converging", "Admissible", "Pending", "Unhealthy"}
