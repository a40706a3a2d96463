// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func ref(name string) picture.Ref {
	return picture.Ref{Kind: "Kustomization", Namespace: "apps", Name: name}
}

func node(name string, wave int, dependsOn ...string) picture.Node {
	n := picture.Node{Ref: ref(name), State: "Settled", Role: "Pinned", Wave: wave}
	for _, d := range dependsOn {
		n.DependsOn = append(n.DependsOn, ref(d))
	}
	return n
}

func graphOf(nodes ...picture.Node) *Graph { return Of(&picture.Picture{Nodes: nodes}) }

func plain(state string) string { return state }

// elements counts the elements of an SVG, and fails on what is no XML.
func elements(t *testing.T, svg []byte) map[string]int {
	t.Helper()
	count := map[string]int{}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	evil := node("a\x1b[31m\"><script>alert(1)</script>&\u202e", 0)
	tests := []struct {
		name         string
		graph        *Graph
		boxes, edges int
	}{
		{"empty", graphOf(), 0, 0},
		{"chain", graphOf(node("a", 0), node("b", 1, "a"), node("c", 2, "b")), 3, 2},
		{"cycle apart", graphOf(node("a", -1, "b"), node("b", -1, "a"), node("c", 0)), 3, 2},
		{"absent dependency", graphOf(node("a", 1, "gone")), 1, 0},
		{"hostile", graphOf(evil, node("b", 1, evil.Name)), 2, 1},
		{"a wave that a snapshot made up", graphOf(node("a", 1<<40)), 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var out bytes.Buffer
			g.Expect(tt.graph.WriteSVG(&out, "fleet <1>")).To(Succeed())
			got := elements(t, out.Bytes())
			// Beside the boxes: the background, and one square a state in the legend.
			g.Expect(got["rect"] - 1 - len(states)).To(Equal(tt.boxes))
			g.Expect(got["path"] - 1).To(Equal(tt.edges))
			g.Expect(got["script"]).To(BeZero())
		})
	}
}

// TestNoOverlap: no two boxes of a large graph cover each other.
func TestNoOverlap(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var nodes []picture.Node
	for i := range 600 {
		n := node(fmt.Sprintf("n%d", i), i/60)
		if i >= 60 {
			n.DependsOn = []picture.Ref{ref(fmt.Sprintf("n%d", (i*7)%60+(i/60-1)*60))}
		}
		nodes = append(nodes, n)
	}
	boxes, width, height := place(graphOf(nodes...).columns())
	g.Expect(boxes).To(HaveLen(600))
	for i, a := range boxes {
		g.Expect(a.x + a.w).To(BeNumerically("<=", width))
		g.Expect(a.y + a.h).To(BeNumerically("<=", height))
		for _, b := range boxes[i+1:] {
			apart := a.x+a.w <= b.x || b.x+b.w <= a.x || a.y+a.h <= b.y || b.y+b.h <= a.y
			g.Expect(apart).To(BeTrue())
		}
	}
}

// TestFewCrossings: the ordering untangles two chains that the names interleave.
func TestFewCrossings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	columns := graphOf(node("a", 0), node("b", 0), node("x", 1, "b"), node("y", 1, "a")).columns()
	g.Expect(columns[0][0].Name + columns[0][1].Name).To(Equal("ab"))
	g.Expect(columns[1][0].Name + columns[1][1].Name).To(Equal("yx"))
}

func TestTree(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	graph := graphOf(node("db", 0), node("app", 1, "db"), node("web", 2, "app", "db"), node("orphan", 1, "gone"), node("loop", -1, "loop"))
	graph.Cycles = [][]picture.Ref{{ref("loop"), ref("loop")}}
	var out bytes.Buffer
	g.Expect(graph.WriteTree(&out, plain)).To(Succeed())
	g.Expect(out.String()).To(Equal(strings.Join([]string{
		"apps/db  Settled",
		"├── apps/app  Settled",
		"│   └── apps/web  Settled",
		"└── apps/web  Settled",
		"apps/orphan  Settled",
		"",
		"In or behind a cycle",
		"  apps/loop  Settled     after apps/loop",
		"  cycle: apps/loop -> apps/loop",
		"",
	}, "\n")))
}

// TestDeepTree: a chain of thousands neither overflows nor explodes.
func TestDeepTree(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	nodes := []picture.Node{node("n0", 0)}
	for i := 1; i < 3000; i++ {
		nodes = append(nodes, node(fmt.Sprintf("n%d", i), i, fmt.Sprintf("n%d", i-1)))
	}
	var out bytes.Buffer
	g.Expect(graphOf(nodes...).WriteTree(&out, plain)).To(Succeed())
	g.Expect(strings.Count(out.String(), "\n")).To(Equal(3000))
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	graph := graphOf(node("a", 0), node("b", 1, "a", "gone"))
	var dot, mermaid bytes.Buffer
	g.Expect(graph.WriteDot(&dot)).To(Succeed())
	g.Expect(dot.String()).To(And(ContainSubstring("n0 -> n1;"), ContainSubstring(`a0 [label="Kustomization/apps/gone"`), ContainSubstring("a0 -> n1;")))
	g.Expect(graph.WriteMermaid(&mermaid)).To(Succeed())
	g.Expect(mermaid.String()).To(And(ContainSubstring("n0 --> n1"), ContainSubstring("a0 --> n1"), ContainSubstring("class n0,n1 s0")))
}
