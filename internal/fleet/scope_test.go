// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// by makes the named Wavefronts select a node.
func by(names ...string) func(*fleet.Node) {
	return func(n *fleet.Node) { n.SelectedBy = names }
}

// peer adds another Wavefront.
func (f *fixture) peer(name string, mode fleet.Mode, changes ...func(*fleet.Wavefront)) *fixture {
	w := fleet.Wavefront{Name: name, Mode: mode, ReplicaLag: lag, StaleAfter: stale}
	for _, change := range changes {
		change(&w)
	}
	f.in.Peers = append(f.in.Peers, w)
	return f
}

// TestOverlaps: selectors must not overlap, and two Wavefronts must not have one
// source in scope; one being deleted, suspended or in Shadow contests nothing
// and reports the overlap on itself only.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	suspended := func(w *fleet.Wavefront) { w.Suspended = true }
	deleting := func(w *fleet.Wavefront) { w.Deleting = true }
	shared := func(f *fixture) *fixture { return f.source("x", candidate).node("x", "x", by("fleet", "peer")) }
	none := func(*fleet.Input) {}
	tests := []struct {
		name      string
		self      func(*fleet.Input)
		f         *fixture
		selectors int
		sources   int
		contested bool
	}{
		{"nothing is shared", none, newFixture().peer("peer", fleet.Enforce).source("x", candidate).node("x", "x").pair("y", by("peer")), 0, 0, false},
		{"a node that both select", none, shared(newFixture().peer("peer", fleet.Enforce)), 1, 1, true},
		{"a source that both have in scope", none, newFixture().peer("peer", fleet.Enforce).source("x", candidate).node("x", "x").node("y", "x", by("peer")), 0, 1, true},
		{"a gate that both select", none, newFixture().peer("peer", fleet.Enforce).source("x", candidate).node("x", "x").node("g", "", by("fleet", "peer")), 1, 0, false},
		{"a peer in Shadow", none, shared(newFixture().peer("peer", fleet.Shadow)), 0, 0, false},
		{"a suspended peer", none, shared(newFixture().peer("peer", fleet.Enforce, suspended)), 0, 0, false},
		{"a peer being deleted", none, shared(newFixture().peer("peer", fleet.Enforce, deleting)), 0, 0, false},
		{"in Shadow, with a peer that contests", func(in *fleet.Input) { in.Self.Mode = fleet.Shadow }, shared(newFixture().peer("peer", fleet.Enforce)), 1, 1, true},
		{"in Shadow, with a peer in Shadow", func(in *fleet.Input) { in.Self.Mode = fleet.Shadow }, shared(newFixture().peer("peer", fleet.Shadow)), 1, 1, false},
		{"in Shadow, with a peer being deleted", func(in *fleet.Input) { in.Self.Mode = fleet.Shadow }, shared(newFixture().peer("peer", fleet.Enforce, deleting)), 0, 0, false},
		{"two peers", none, newFixture().peer("b", fleet.Enforce).peer("a", fleet.Enforce).source("x", candidate).node("x", "x", by("b", "a", "fleet")), 2, 2, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := tt.f.with(tt.self).evaluate()
			g.Expect(e.SelectorOverlaps).To(HaveLen(tt.selectors))
			g.Expect(e.SourceOverlaps).To(HaveLen(tt.sources))
			g.Expect(e.source("x").Contested).To(Equal(tt.contested))
			if tt.contested {
				g.Expect(e.blocked("x")).To(Equal("Contested x"))
				g.Expect(e.Moves).To(BeEmpty())
			} else {
				g.Expect(e.Moves).To(HaveLen(1))
			}
		})
	}
}

// TestContested: neither Wavefront moves contested sources or what is behind
// them; everything else goes on.
func TestContested(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newFixture().peer("peer", fleet.Enforce).
		pair("x", by("fleet", "peer")).
		source("behind", candidate).node("behind", "behind", after("x")).
		source("far", candidate).node("gate", "", unselected, after("x")).node("far", "far", after("gate")).
		source("free", candidate).node("free", "free").
		source("new", unpinned).node("new", "new", by("fleet", "peer")).
		evaluate()
	g.Expect(e.blocked("behind")).To(Equal("Contested x"))
	g.Expect(e.blocked("far")).To(Equal("Contested x"))
	g.Expect(e.blocked("new")).To(Equal("Contested new"))
	g.Expect(e.node("x").State).To(Equal(fleet.Settled))
	g.Expect(names(sourcesOf(e.Moves))).To(Equal([]string{"free"}))
}

// TestForeign: a node of another Wavefront, reached by dependsOn, is judged by
// the same rules with its own source's real pin; in Shadow without one it is a
// gate. It is never moved, and it is no overlap.
func TestForeign(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		mode    fleet.Mode
		source  []func(*fleet.Source)
		role    fleet.Role
		state   fleet.State
		blocked string
	}{
		{"settled", fleet.Enforce, nil, fleet.Pinned, fleet.Settled, ""},
		{"with a candidate", fleet.Enforce, []func(*fleet.Source){candidate}, fleet.Pinned, fleet.Admissible, "AncestorPending p"},
		{"not enrolled there", fleet.Enforce, []func(*fleet.Source){unpinned}, fleet.Pinned, fleet.Pending, "AncestorNotEnrolled p"},
		{"in Shadow, with a real pin", fleet.Shadow, []func(*fleet.Source){candidate}, fleet.Pinned, fleet.Admissible, "AncestorPending p"},
		{"in Shadow, without a pin", fleet.Shadow, []func(*fleet.Source){candidate, unpinned, func(s *fleet.Source) { s.VirtualPin = newCommit }}, fleet.Gate, fleet.Settled, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := newFixture().peer("peer", tt.mode).source("p", tt.source...).node("p", "p", by("peer")).
				node("sibling", "p", by("peer"), failing).
				source("x", candidate).node("x", "x", after("p")).evaluate()
			p := e.node("p")
			g.Expect(p.Role).To(Equal(tt.role))
			g.Expect(p.State).To(Equal(tt.state))
			g.Expect(p.Selected).To(BeFalse())
			g.Expect(p.Foreign == "peer").To(Equal(tt.role == fleet.Pinned))
			g.Expect(e.blocked("x")).To(Equal(tt.blocked))
			g.Expect(names(sourcesOf(e.Moves))).NotTo(ContainElement("p"))
			g.Expect(e.SourceOverlaps).To(BeEmpty())
			g.Expect(e.Nodes).To(HaveLen(2), "siblings on a peer's source are the peer's")
			g.Expect(e.Sources).To(HaveLen(1))
		})
	}
	t.Run("a peer being deleted has no nodes", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		e := newFixture().peer("peer", fleet.Enforce, func(w *fleet.Wavefront) { w.Deleting = true }).
			source("p", candidate).node("p", "p", by("peer")).source("x", candidate).node("x", "x", after("p")).evaluate()
		g.Expect(e.node("p").Role).To(Equal(fleet.Gate))
		g.Expect(e.blocked("x")).To(BeEmpty())
	})
}

// TestUnsupported: ref styles that are not sequenced are reported.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	semver := func(s *fleet.Source) { s.Ref, s.RefStyle = "", "semver: 1.x" }
	e := newFixture().source("held", semver).node("held", "held").
		source("gate", unpinned, semver).node("gate", "gate").
		source("other", floating, semver).node("other", "other").
		pair("fine").evaluate()
	g.Expect(names(e.Unsupported)).To(Equal([]string{"gate", "held"}))
	g.Expect(e.node("held").Role).To(Equal(fleet.Pinned))
	g.Expect(e.node("gate").Role).To(Equal(fleet.Gate))
}

// TestForeignReleases: a node is judged the same by everybody, also where the sibling
// that applied a failing release from its source is none of the graph.
func TestForeignReleases(t *testing.T) {
	t.Parallel()
	broken := func(r *fleet.Release) { r.Ready = fleet.Condition{Status: fleet.False, Reason: "UpgradeFailed"} }
	for _, keeper := range []string{"fleet", "peer"} {
		for applier, want := range map[string]fleet.State{"infra": fleet.Unhealthy, "": fleet.Unhealthy, "apps": fleet.Settled} {
			e := newFixture().peer("peer", fleet.Enforce).
				source("mono").node("infra", "mono", by(keeper)).node("apps", "mono", by(keeper)).
				pair("own", after("infra")).release("r", "mono", applier, broken).evaluate()
			NewWithT(t).Expect(e.node("infra").State).To(Equal(want), "kept by %s, applied by %q", keeper, applier)
		}
	}
}
