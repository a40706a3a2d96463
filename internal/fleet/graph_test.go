// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// name is the name of the i-th of many.
func name(i int) string { return fmt.Sprintf("n%03d", i) }

// names lists the names of IDs.
func names(ids []fleet.ID) []string {
	var result []string
	for _, id := range ids {
		result = append(result, id.Name)
	}
	return result
}

// TestMembers: the selected nodes, every other node on a source in scope, and
// everything reached over dependsOn.
func TestMembers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		f     *fixture
		nodes []string
		roles string // P, G per node
	}{
		{"an empty fleet", newFixture(), nil, ""},
		{"a selected node on a managed source is pinned", newFixture().pair("x"), []string{"x"}, "P"},
		{"a selected node on a source that is not managed is a gate", newFixture().source("x", floating).node("x", "x"), []string{"x"}, "G"},
		{"a selected node without a source that can be read is a gate", newFixture().node("x", "gone"), []string{"x"}, "G"},
		{"a sibling on a source in scope is pinned, selected or not", newFixture().pair("x").node("y", "x", unselected), []string{"x", "y"}, "PP"},
		{"a managed source that no selected node is built from is not in scope",
			newFixture().source("x").node("x", "x", unselected).node("y", "", after("x")), []string{"x", "y"}, "GG"},
		{"somebody else's node is no member", newFixture().pair("x").node("z", "", unselected), []string{"x"}, "P"},
		{"reached over dependsOn, transitively", newFixture().pair("x", after("g")).
			node("g", "", unselected, after("h")).node("h", "", unselected), []string{"g", "h", "x"}, "GGP"},
		{"reached from a sibling that nobody selected", newFixture().pair("x").node("y", "x", unselected, after("g")).
			node("g", "", unselected), []string{"g", "x", "y"}, "GPP"},
		{"a dependency that does not exist is a node", newFixture().pair("x", after("gone")), []string{"gone", "x"}, "GP"},
		{"a ref style that is not sequenced makes gates", newFixture().source("x", unpinned, func(s *fleet.Source) { s.Ref = "" }).node("x", "x"), []string{"x"}, "G"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := tt.f.evaluate()
			var found []string
			roles := ""
			for _, n := range e.Nodes {
				found = append(found, n.ID.Name)
				roles += string(n.Role)[:1]
			}
			g.Expect(found).To(Equal(tt.nodes))
			g.Expect(roles).To(Equal(tt.roles))
			g.Expect(e.Counts.Observed).To(Equal(len(tt.nodes)))
			g.Expect(e.Counts.Pinned + e.Counts.Gates).To(Equal(len(tt.nodes)))
		})
	}
}

// TestEdges: across namespaces, repeated, refused.
func TestEdges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	far := fleet.ID{Kind: fleet.KindKustomization, Namespace: "elsewhere", Name: "x"}
	refused := fleet.ID{Kind: fleet.KindKustomization, Namespace: "elsewhere", Name: "no"}
	f := newFixture().pair("x", after("a", "a"), func(n *fleet.Node) {
		n.DependsOn = append(n.DependsOn, far, node("a"))
		n.Refused = []fleet.ID{refused, refused}
	}).pair("a").node("x", "", unselected, func(n *fleet.Node) { n.ID = far })
	e := f.evaluate()
	g.Expect(e.node("x").DependsOn).To(Equal([]fleet.ID{far, node("a")}), "sorted, once each")
	g.Expect(e.node("x").Wave).To(Equal(1))
	g.Expect(e.Refused).To(Equal([]fleet.RefusedReference{{From: node("x"), To: refused}}))
	g.Expect(e.Nodes).To(HaveLen(3), "a refused reference is no edge and no membership")
}

// TestWave: the longest path from a root.
func TestWave(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newFixture().pair("a").pair("b", after("a")).pair("c", after("a", "b")).pair("d", after("c")).
		node("e", "b", after("d")).evaluate()
	for name, wave := range map[string]int{"a": 0, "b": 1, "c": 2, "d": 3, "e": 4} {
		g.Expect(e.node(name).Wave).To(Equal(wave), name)
	}
	g.Expect(e.source("b").Rank).To(Equal(4), "the largest wave of the source's nodes")
}

// TestCycles: nodes on a cycle and behind one are blocked, with a real path; the
// rest goes on.
func TestCycles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		f       *fixture
		paths   [][]string
		blocked map[string]string
	}{
		{"none", newFixture().pair("a").pair("b", after("a")), nil, map[string]string{"a": "", "b": ""}},
		{"a node that depends on itself", newFixture().pair("a", after("a")), [][]string{{"a", "a"}}, map[string]string{"a": "GraphCycle"}},
		{"two nodes", newFixture().pair("a", after("b")).pair("b", after("a")), [][]string{{"a", "b", "a"}},
			map[string]string{"a": "GraphCycle", "b": "GraphCycle"}},
		{"behind a cycle", newFixture().pair("a", after("b")).pair("b", after("a")).pair("c", after("b")).pair("d", after("c")),
			[][]string{{"a", "b", "a"}}, map[string]string{"c": "GraphCycle b", "d": "GraphCycle b"}},
		{"before a cycle", newFixture().pair("a", after("b")).pair("b", after("a", "r")).pair("r"),
			[][]string{{"a", "b", "a"}}, map[string]string{"r": ""}},
		{"two cycles", newFixture().pair("a", after("b")).pair("b", after("a")).pair("c", after("d")).pair("d", after("c")),
			[][]string{{"a", "b", "a"}, {"c", "d", "c"}}, nil},
		{"the shortest of several paths", newFixture().pair("a", after("b")).pair("b", after("c")).pair("c", after("d", "a")).pair("d", after("a")),
			[][]string{{"a", "b", "c", "a"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := tt.f.evaluate()
			var paths [][]string
			for _, c := range e.Cycles {
				paths = append(paths, names(c))
			}
			g.Expect(paths).To(Equal(tt.paths))
			for name, want := range tt.blocked {
				g.Expect(e.blocked(name)).To(Equal(want), name)
				n := e.node(name)
				g.Expect(n.InCycle || n.BehindCycle).To(Equal(want != ""))
				if want != "" {
					g.Expect(n.State).To(Equal(fleet.Pending))
					g.Expect(n.Wave).To(Equal(-1))
					g.Expect(n.Full || n.Gate).To(BeFalse())
				}
			}
			if len(tt.paths) > 0 {
				g.Expect(e.Phase).To(Equal(fleet.Blocked))
			}
		})
	}
}

// TestCycleBlocksOnlyItself: the rest of the fleet goes on.
func TestCycleBlocksOnlyItself(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := newFixture()
	for _, s := range []string{"a", "b", "free"} {
		f.source(s, candidate)
	}
	e := f.node("a", "a", after("b")).node("b", "b", after("a")).node("free", "free").node("sibling", "a").evaluate()
	g.Expect(names(sourcesOf(e.Moves))).To(Equal([]string{"free"}))
	g.Expect(e.blocked("sibling")).To(Equal("SharedSourceBlocked a"))
}

// sourcesOf lists the sources of moves.
func sourcesOf(moves []fleet.Move) []fleet.ID {
	var result []fleet.ID
	for _, m := range moves {
		result = append(result, m.Source)
	}
	return result
}

// TestGroups: the sources that can only move together.
func TestGroups(t *testing.T) {
	t.Parallel()
	all := func(f *fixture, sources ...string) *fixture {
		for _, s := range sources {
			f.source(s, candidate)
		}
		return f
	}
	tests := []struct {
		name       string
		f          *fixture
		coAdmitted [][]string
		moves      []string
	}{
		{"a monorepo: apps after infra, in one repository",
			all(newFixture(), "mono").node("infra", "mono").node("apps", "mono", after("infra")), nil, []string{"mono"}},
		{"a gate between two nodes of one source",
			all(newFixture(), "mono").node("infra", "mono").node("gate", "", unselected, after("infra")).node("apps", "mono", after("gate")),
			nil, []string{"mono"}},
		{"interleaved: C (repo1) after B (repo2) after A (repo1)",
			all(newFixture(), "repo1", "repo2").node("a", "repo1").node("b", "repo2", after("a")).node("c", "repo1", after("b")),
			[][]string{{"repo1", "repo2"}}, []string{"repo1", "repo2"}},
		{"everything outside the group gates it as usual",
			all(newFixture(), "root", "repo1", "repo2").node("root", "root").node("a", "repo1", after("root")).
				node("b", "repo2", after("a")).node("c", "repo1", after("b")),
			[][]string{{"repo1", "repo2"}}, []string{"root"}},
		{"what is outside gates through a member of the group",
			all(newFixture(), "root", "repo1", "repo2").node("root", "root").node("a", "repo1").
				node("b", "repo2", after("a", "root")).node("c", "repo1", after("b")),
			[][]string{{"repo1", "repo2"}}, []string{"root"}},
		{"two sources in a row are no group",
			all(newFixture(), "repo1", "repo2").node("a", "repo1").node("b", "repo2", after("a")), nil, []string{"repo1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := tt.f.evaluate()
			var groups [][]string
			for _, c := range e.CoAdmitted {
				groups = append(groups, names(c))
			}
			g.Expect(groups).To(Equal(tt.coAdmitted))
			g.Expect(names(sourcesOf(e.Moves))).To(Equal(tt.moves))
			g.Expect(e.Cycles).To(BeEmpty())
		})
	}
}

// TestNodesNotVertices: gating is judged between nodes. D, which depends on
// infra alone, does not wait for an unhealthy apps in infra's repository.
func TestNodesNotVertices(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newFixture().source("mono").node("infra", "mono").node("apps", "mono", after("infra"), failing).
		source("d", candidate).node("d", "d", after("infra")).
		source("e", candidate).node("e", "e", after("apps")).evaluate()
	g.Expect(names(sourcesOf(e.Moves))).To(Equal([]string{"d"}))
	g.Expect(e.blocked("e")).To(Equal("AncestorUnhealthy apps"))
}
