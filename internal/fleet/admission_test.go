// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestBlockedReasons: what a candidate waits for, and the ancestor's actual
// trouble. x is the node that waits; a and b are above it.
func TestBlockedReasons(t *testing.T) {
	t.Parallel()
	waiting := func(f *fixture, above ...string) *fixture {
		return f.source("x", candidate).node("x", "x", after(above...))
	}
	handPin := func(s *fleet.Source) { s.Claim = fleet.ClaimHandPin }
	suspended := func(s *fleet.Source) { s.Suspended = true }
	initial := func(s *fleet.Source) { s.Initial, s.Reconciled, s.PinnedAt = true, false, clock.Add(-10*time.Second) }
	tests := []struct {
		name string
		f    *fixture
		want string
	}{
		{"nothing: it may move", waiting(newFixture()), ""},
		{"nothing: all ancestors are settled", waiting(newFixture().pair("a").pair("b", after("a")), "b"), ""},
		{"an unhealthy ancestor", waiting(newFixture().pair("a", failing), "a"), "AncestorUnhealthy a"},
		{"an unhealthy ancestor further up", waiting(newFixture().pair("a", failing).pair("b", after("a")), "b"), "AncestorUnhealthy a"},
		{"the nearest of two", waiting(newFixture().pair("a", failing).pair("b", after("a"), progressing), "b"), "AncestorPending b"},
		{"of two as near, the smaller name", waiting(newFixture().pair("b", failing).pair("a", progressing), "b", "a"), "AncestorPending a"},
		{"of two paths, the shorter", waiting(newFixture().pair("z", failing).pair("a", failing).pair("b", after("a")), "b", "z"), "AncestorUnhealthy z"},
		{"an ancestor with a candidate", waiting(newFixture().source("a", candidate).node("a", "a"), "a"), "AncestorPending a"},
		{"an ancestor on its way", waiting(newFixture().pair("a", progressing), "a"), "AncestorPending a"},
		{"an ancestor to be read live first", waiting(newFixture().pair("a", func(n *fleet.Node) { n.Confirmed = false }), "a"), "AncestorPending a"},
		{"an ancestor whose listing is on its way after a move", waiting(newFixture().source("a", func(s *fleet.Source) { s.PinSeen = at(90) }).node("a", "a"), "a"), "AncestorPending a"},
		{"an ancestor that is held with a candidate", waiting(newFixture().source("a", handPin, candidate).node("a", "a"), "a"), "AncestorHeld a"},
		{"an ancestor that is held and merely converging", waiting(newFixture().source("a", handPin).node("a", "a", progressing), "a"), "AncestorPending a"},
		{"an ancestor that is held and unhealthy", waiting(newFixture().source("a", handPin, candidate).node("a", "a", failing), "a"), "AncestorUnhealthy a"},
		{"an ancestor that is suspended behind its pin", waiting(newFixture().pair("a", suspendNode, progressing), "a"), "AncestorHeld a"},
		{"a suspended source that can't reach its pin", waiting(newFixture().source("a", suspended, func(s *fleet.Source) { s.Artifact = newCommit }).node("a", "a"), "a"), "AncestorHeld a"},
		{"an ancestor that stays behind with a suspended release", waiting(newFixture().pair("a").release("r", "a", "a", func(r *fleet.Release) {
			r.Suspended, r.Chart.Version = true, "0.1.0+2222"
		}), "a"), "AncestorHeld a"},
		{"an ancestor that can't be listed", waiting(newFixture().source("a", func(s *fleet.Source) { s.Observed, s.ObservationError = nil, "timeout" }).node("a", "a"), "a"), "AncestorUnobserved a"},
		{"an ancestor listed too long ago", waiting(newFixture().source("a", func(s *fleet.Source) {
			s.PinSeen, s.Observed.Started = fleet.Instant{Seq: 1, At: -3 * stale}, fleet.Instant{Seq: 2, At: -2 * stale}
		}).node("a", "a"), "a"), "AncestorUnobserved a"},
		{"an ancestor not listed again since", waiting(newFixture().source("a", func(s *fleet.Source) { s.Observed.Started = at(19) }).node("a", "a"), "a"), "AncestorUnobserved a"},
		{"an ancestor that does not exist", waiting(newFixture(), "gone"), "AncestorMissing gone"},
		{"an ancestor that was never pinned", waiting(newFixture().source("a", unpinned).node("a", "a"), "a"), "AncestorNotEnrolled a"},
		{"an ancestor that is being cloned at its initial pin", waiting(newFixture().source("a", initial).node("a", "a"), "a"), "AncestorNotEnrolled a"},
		{"a gate that fails", waiting(newFixture().node("g", "", failing), "g"), "AncestorUnhealthy g"},
		{"a gate in the middle of an update", waiting(newFixture().source("g", floating, func(s *fleet.Source) { s.Artifact = newCommit }).node("g", "g"), "g"), "AncestorPending g"},
		{"a suspended gate in the middle of an update", waiting(newFixture().source("g", floating, func(s *fleet.Source) { s.Artifact = newCommit }).node("g", "g", suspendNode), "g"), "AncestorHeld g"},
		{"itself: held", newFixture().source("x", candidate, handPin).node("x", "x"), "SelfHeld"},
		{"itself: not observed lately", newFixture().source("x", candidate, func(s *fleet.Source) {
			s.PinSeen, s.Observed.Started = fleet.Instant{Seq: 1, At: -3 * stale}, fleet.Instant{Seq: 2, At: -2 * stale}
		}).node("x", "x"), "SelfUnobserved"},
		{"itself: not observed, without a candidate", newFixture().source("x", func(s *fleet.Source) { s.Observed, s.ObservationError = nil, "ref missing" }).node("x", "x"), "SelfUnobserved"},
		{"itself: never pinned", newFixture().source("x", unpinned).node("x", "x"), "NotEnrolled"},
		{"itself: being cloned at its initial pin", newFixture().source("x", initial, candidate).node("x", "x"), "NotEnrolled"},
		{"a sibling of the same source", newFixture().pair("a", failing).source("x", candidate).node("x", "x").node("y", "x", after("a")), "SharedSourceBlocked y"},
		{"its own ancestors before its sibling's", newFixture().pair("a", failing).pair("b", progressing).source("x", candidate).
			node("x", "x", after("b")).node("w", "x", after("a")), "AncestorPending b"},
		{"the Wavefront is suspended", waiting(newFixture().with(func(in *fleet.Input) { in.Self.Suspended = true })), "Suspended"},
		{"the Wavefront is suspended, before everything else that waits", waiting(newFixture().with(func(in *fleet.Input) { in.Self.Suspended = true }).pair("a", failing), "a"), "Suspended"},
		{"the Wavefront is suspended, no initial pin", newFixture().with(func(in *fleet.Input) { in.Self.Suspended = true }).source("x", unpinned).node("x", "x"), "Suspended"},
		{"a cycle above it", waiting(newFixture().pair("a", after("b")).pair("b", after("a")), "a"), "GraphCycle a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := tt.f.evaluate()
			g.Expect(e.blocked("x")).To(Equal(tt.want))
			kind, to := e.move("x")
			if tt.want == "" {
				g.Expect(e.node("x").State).To(Equal(fleet.Admissible))
				g.Expect(kind).To(Equal(fleet.Advance))
				g.Expect(to).To(Equal(newCommit))
				return
			}
			g.Expect(e.node("x").State).To(Equal(fleet.Pending))
			g.Expect(kind).NotTo(Equal(fleet.Advance))
			g.Expect(e.source("x").Blocked).NotTo(BeNil())
		})
	}
}

// TestFreshness: for every observed source of an ancestor outside the group, the
// latest observation started after the one that first returned the candidate had
// completed, and replicaLag after that. x's candidate was first seen at 20.
func TestFreshness(t *testing.T) {
	t.Parallel()
	started := func(seconds int) func(*fleet.Source) {
		return func(s *fleet.Source) { s.Observed.Started = at(seconds) }
	}
	tests := []struct {
		name string
		f    *fixture
		want string
	}{
		{"listed replicaLag after", newFixture().source("a", started(22)).node("a", "a"), ""},
		{"listed less than replicaLag after", newFixture().source("a", started(21)).node("a", "a"), "AncestorUnobserved a"},
		{"listed in the same moment, as one response that carries both", newFixture().source("a", started(20)).node("a", "a"), "AncestorUnobserved a"},
		{"listed before", newFixture().source("a", started(15)).node("a", "a"), "AncestorUnobserved a"},
		{"further up", newFixture().source("r", started(15)).node("r", "r").pair("a", after("r")), "AncestorUnobserved r"},
		{"the oldest is named", newFixture().source("r", started(14)).node("r", "r").source("a", started(15)).node("a", "a", after("r")), "AncestorUnobserved r"},
		{"gates need no observation", newFixture().source("a", floating, started(15)).node("a", "a"), ""},
		{"what Git renders needs none", newFixture().source("a", started(15), func(s *fleet.Source) { s.Claim = fleet.ClaimDeclared }).node("a", "a"), ""},
		{"what is held and was never pinned is outside the rule", newFixture().source("a", unpinned, started(15), func(s *fleet.Source) { s.Suspended = true }).node("a", "a"), ""},
		{"a hand-pin is not", newFixture().source("a", started(15), func(s *fleet.Source) { s.Claim = fleet.ClaimHandPin }).node("a", "a"), "AncestorUnobserved a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(tt.f.source("x", candidate).node("x", "x", after("a")).evaluate().blocked("x")).To(Equal(tt.want))
		})
	}
	t.Run("members of the group are outside the rule", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		e := newFixture().source("repo1", candidate).source("repo2", started(15)).
			node("a", "repo1").node("b", "repo2", after("a")).node("c", "repo1", after("b")).evaluate()
		kind, _ := e.move("repo1")
		g.Expect(kind).To(Equal(fleet.Advance))
	})
}

// TestUnselectedSiblings: they move along and are judged where somebody depends
// on them, but their edges do not hold the source.
func TestUnselectedSiblings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := newFixture().pair("a", failing).source("x", candidate).node("x", "x").node("y", "x", unselected, after("a")).
		source("d", candidate).node("d", "d", after("y"))
	e := f.evaluate()
	g.Expect(names(sourcesOf(e.Moves))).To(Equal([]string{"x"}))
	g.Expect(e.Moves[0].Nodes).To(Equal([]fleet.ID{node("x")}), "the selected ones are read live")
	g.Expect(e.node("y").State).To(Equal(fleet.Admissible))
	g.Expect(e.blocked("d")).To(Equal("AncestorPending y"))
}

// TestRefresh: a new candidate asks for a listing of those ancestors that are not
// fresh enough, once; while that is under way its own source is not listed.
func TestRefresh(t *testing.T) {
	t.Parallel()
	started := func(seconds int) func(*fleet.Source) {
		return func(s *fleet.Source) { s.Observed.Started = at(seconds) }
	}
	first := func(seconds int) func(*fleet.Source) {
		return func(s *fleet.Source) { candidate(s); s.Observed.First = at(seconds) }
	}
	want := func(name string, seconds int) fleet.Refresh {
		return fleet.Refresh{Source: source(name), After: at(seconds)}
	}
	tests := []struct {
		name    string
		f       *fixture
		refresh []fleet.Refresh
		waiting []string
	}{
		{"no candidate, nothing to list", newFixture().pair("a").pair("x", after("a")), nil, nil},
		{"fresh enough", newFixture().pair("a").source("x", first(20)).node("x", "x", after("a")), nil, nil},
		{"all ancestors that are not", newFixture().source("r", started(15)).node("r", "r").pair("a", after("r")).
			source("x", first(20)).node("x", "x", after("a")), []fleet.Refresh{want("r", 20)}, []string{"x"}},
		{"the latest candidate behind it counts", newFixture().source("r", started(15)).node("r", "r").
			source("x", first(20)).node("x", "x", after("r")).source("y", first(40)).node("y", "y", after("r")),
			[]fleet.Refresh{want("r", 40)}, []string{"x", "y"}},
		{"one listing serves a candidate that waits for something else", newFixture().pair("r", failing).
			source("x", first(20)).node("x", "x", after("r")), nil, nil},
		{"not for a held candidate", newFixture().source("r", started(15)).node("r", "r").
			source("x", first(20), func(s *fleet.Source) { s.Claim = fleet.ClaimHandPin }).node("x", "x", after("r")), nil, nil},
		{"not while suspended", newFixture().with(func(in *fleet.Input) { in.Self.Suspended = true }).source("r", started(15)).node("r", "r").
			source("x", first(20)).node("x", "x", after("r")), nil, nil},
		{"not for members of the group", newFixture().source("repo1", first(40)).source("repo2", started(15)).
			node("a", "repo1").node("b", "repo2", after("a")).node("c", "repo1", after("b")), nil, nil},
		{"not for what an unselected sibling depends on", newFixture().source("r", started(15)).node("r", "r").
			source("x", first(20)).node("x", "x").node("y", "x", unselected, after("r")), nil, nil},
		{"a changed pin: its own observation does not count", newFixture().source("x", func(s *fleet.Source) { s.PinSeen = at(80) }).node("x", "x"),
			[]fleet.Refresh{want("x", 80)}, nil},
		{"a middle source waits for its own ancestors first", newFixture().source("r", started(15)).node("r", "r").
			source("m", first(20), started(30)).node("m", "m", after("r")).source("x", first(40)).node("x", "x", after("m")),
			[]fleet.Refresh{want("r", 40)}, []string{"m", "x"}},
		{"a candidate that grows old is listed all the same", newFixture().with(func(in *fleet.Input) { in.Now = fleet.Instant{Seq: 1000, At: stale/2 + 61*time.Second} }).
			source("r", started(15)).node("r", "r").source("x", first(20)).node("x", "x", after("r")), []fleet.Refresh{want("r", 20)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := tt.f.evaluate()
			g.Expect(e.Refresh).To(Equal(tt.refresh))
			g.Expect(names(e.Waiting)).To(Equal(tt.waiting))
		})
	}
}
