// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestSettled: S pinned, not pending, the counting observation not older than
// staleAfter, at pin(S), charts(N), ready(N).
func TestSettled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		source func(*fleet.Source)
		node   func(*fleet.Node)
		state  fleet.State
	}{
		{name: "everything at the pin and healthy", state: fleet.Settled},
		{name: "pending: the counting observation's commit is not the pin", source: candidate, state: fleet.Admissible},
		{name: "the observation is exactly staleAfter old", source: func(s *fleet.Source) {
			s.PinSeen, s.Observed.Started = fleet.Instant{Seq: 1, At: -stale}, fleet.Instant{Seq: 2, At: 100*time.Second - stale}
		}, state: fleet.Settled},
		{name: "the observation is older than staleAfter", source: func(s *fleet.Source) {
			s.PinSeen, s.Observed.Started = fleet.Instant{Seq: 1, At: -2 * stale}, fleet.Instant{Seq: 2, At: 99*time.Second - stale}
		}, state: fleet.Pending},
		{name: "not observed, on its way", source: func(s *fleet.Source) { s.Observed = nil }, state: fleet.Converging},
		{name: "not observed, listing fails", source: func(s *fleet.Source) {
			s.Observed, s.ObservationError = nil, "unauthorised"
		}, state: fleet.Pending},
		{name: "not observed for as long as an observation lasts", source: func(s *fleet.Source) {
			s.Observed, s.PinSeen = nil, fleet.Instant{Seq: 1, At: 99*time.Second - stale}
		}, state: fleet.Pending},
		{name: "a failed listing while a counting one is fresh is only reported", source: func(s *fleet.Source) {
			s.ObservationError = "timeout"
		}, state: fleet.Settled},
		{name: "the observation is of another URL", source: func(s *fleet.Source) { s.URL = "https://git.example/other" }, state: fleet.Converging},
		{name: "the observation is of another ref", source: func(s *fleet.Source) { s.Ref = "refs/heads/next" }, state: fleet.Converging},
		{name: "the observation started before the pin became what it is", source: func(s *fleet.Source) {
			s.PinSeen = at(70)
		}, state: fleet.Converging},
		{name: "the observation started less than replicaLag after that", source: func(s *fleet.Source) {
			s.PinSeen = at(59)
		}, state: fleet.Converging},
		{name: "the observation started replicaLag after that", source: func(s *fleet.Source) { s.PinSeen = at(58) }, state: fleet.Settled},
		{name: "the artifact is not at the pin", source: func(s *fleet.Source) { s.Artifact = newCommit }, state: fleet.Converging},
		{name: "the source can't fetch the pin any more, but has it", source: func(s *fleet.Source) {
			s.FetchFailed, s.Ready = true, fleet.Condition{Status: fleet.False, Reason: "GitOperationFailed"}
		}, state: fleet.Settled},
		{name: "the source can't fetch the pin", source: func(s *fleet.Source) {
			s.FetchFailed, s.Artifact = true, newCommit
		}, state: fleet.Unhealthy},
		{name: "applied at another revision", node: func(n *fleet.Node) { n.LastApplied = newCommit }, state: fleet.Converging},
		{name: "attempting another revision", node: func(n *fleet.Node) { n.LastAttempted = newCommit }, state: fleet.Converging},
		{name: "never applied", node: func(n *fleet.Node) { n.LastApplied, n.LastAttempted = "", "" }, state: fleet.Converging},
		{name: "failed at the pin", node: failing, state: fleet.Unhealthy},
		{name: "the pin could not be written twice", source: func(s *fleet.Source) { s.PinFailures = 2 }, state: fleet.Settled},
		{name: "the pin could not be written three times running", source: func(s *fleet.Source) { s.PinFailures = 3 }, state: fleet.Unhealthy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := newFixture().pair("team")
			if tt.source != nil {
				tt.source(&f.in.Sources[0])
			}
			if tt.node != nil {
				tt.node(&f.in.Nodes[0])
			}
			n := f.evaluate().node("team")
			g.Expect(n.State).To(Equal(tt.state))
			g.Expect(n.Settled).To(Equal(tt.state == fleet.Settled))
			g.Expect(n.Unhealthy).To(Equal(tt.state == fleet.Unhealthy))
			g.Expect(n.Trouble != "").To(Equal(n.Unhealthy), "trouble says why: %q", n.Trouble)
		})
	}
}

// TestConfirmation: the first time a node would turn settled after its pin
// changed it is read live; until then it is converging, and asks for it.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	unconfirmed := func(n *fleet.Node) { n.Confirmed = false }
	tests := []struct {
		name    string
		f       *fixture
		confirm []fleet.ID
		state   fleet.State
	}{
		{"pinned", newFixture().pair("x", unconfirmed), []fleet.ID{node("x")}, fleet.Converging},
		{"pinned, not converged yet", newFixture().pair("x", unconfirmed, progressing), nil, fleet.Converging},
		{"confirmed", newFixture().pair("x"), nil, fleet.Settled},
		{"a gate", newFixture().source("x", floating).node("x", "x", unconfirmed), nil, fleet.Settled},
		{"held at a pin", newFixture().source("x", func(s *fleet.Source) { s.Claim = fleet.ClaimHandPin }).node("x", "x", unconfirmed),
			[]fleet.ID{node("x")}, fleet.Converging},
		{"held, never pinned", newFixture().source("x", unpinned, func(s *fleet.Source) { s.Suspended = true }).node("x", "x", unconfirmed), nil, fleet.Settled},
		{"a virtual pin", newFixture().with(func(in *fleet.Input) { in.Self.Mode = fleet.Shadow }).
			source("x", unpinned, func(s *fleet.Source) { s.VirtualPin = oldCommit }).node("x", "x", unconfirmed), []fleet.ID{node("x")}, fleet.Converging},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := tt.f.evaluate()
			g.Expect(e.Confirm).To(Equal(tt.confirm))
			g.Expect(e.node("x").State).To(Equal(tt.state))
		})
	}
}

// TestGateSettled: a good verdict and, where its own source can be read, applied
// at that source's artifact.
func TestGateSettled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		f     *fixture
		state fleet.State
	}{
		{"without a source that can be read", newFixture().node("x", ""), fleet.Settled},
		{"at its source's artifact", newFixture().source("x", floating).node("x", "x"), fleet.Settled},
		{"floating, in the middle of an update", newFixture().source("x", floating, func(s *fleet.Source) { s.Artifact = newCommit }).node("x", "x"), fleet.Converging},
		{"its source has gone there and back", newFixture().source("x", floating).node("x", "x", func(n *fleet.Node) { n.LastAttempted = newCommit }), fleet.Converging},
		{"failing", newFixture().source("x", floating).node("x", "x", failing), fleet.Unhealthy},
		{"failing at whatever revision", newFixture().source("x", floating).node("x", "x", failing, func(n *fleet.Node) { n.LastAttempted = newCommit }), fleet.Unhealthy},
		{"needs no observation", newFixture().source("x", floating, func(s *fleet.Source) { s.Observed, s.ObservationError = nil, "timeout" }).node("x", "x"), fleet.Settled},
		{"reconciling for the first time", newFixture().node("x", "", func(n *fleet.Node) {
			n.Ready, n.Last = fleet.Condition{Status: fleet.Unknown, Since: clock}, nil
		}), fleet.Converging},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			n := tt.f.evaluate().node("x")
			g.Expect(n.Role).To(Equal(fleet.Gate))
			g.Expect(n.State).To(Equal(tt.state))
		})
	}
}

// TestHeldSettled: nothing pending on its ref, a good verdict, its charts, and
// applied at the pin if there is one.
func TestHeldSettled(t *testing.T) {
	t.Parallel()
	handPin := func(s *fleet.Source) { s.Claim, s.Manager = fleet.ClaimHandPin, "kubectl-edit" }
	declared := func(s *fleet.Source) { s.Claim, s.Manager, s.Ours = fleet.ClaimDeclared, "kustomize-controller", false }
	suspended := func(s *fleet.Source) { s.Suspended, s.Generation = true, 2 }
	unseen := func(s *fleet.Source) { s.Observed, s.ObservationError = nil, "timeout" }
	notReady := func(s *fleet.Source) { s.Ready.Status = fleet.False }
	tests := []struct {
		name    string
		source  []func(*fleet.Source)
		node    func(*fleet.Node)
		state   fleet.State
		blocked string
	}{
		{name: "hand-pinned at the head", source: []func(*fleet.Source){handPin}, state: fleet.Settled},
		{name: "hand-pinned while something is pending", source: []func(*fleet.Source){handPin, candidate}, state: fleet.Pending, blocked: "SelfHeld"},
		{name: "hand-pinned needs an observation like any other", source: []func(*fleet.Source){handPin, unseen}, state: fleet.Pending, blocked: "SelfUnobserved"},
		{name: "hand-pinned and failing", source: []func(*fleet.Source){handPin}, node: failing, state: fleet.Unhealthy},
		{name: "hand-pinned and not applied there", source: []func(*fleet.Source){handPin}, node: progressing, state: fleet.Converging},
		{name: "hand-pinned there and back in the middle of an apply", source: []func(*fleet.Source){handPin},
			node: func(n *fleet.Node) { n.LastAttempted = newCommit }, state: fleet.Converging},
		{name: "nothing is ever pending on a declared commit", source: []func(*fleet.Source){declared, candidate}, state: fleet.Settled},
		{name: "a declared commit needs no observation", source: []func(*fleet.Source){declared, unseen}, state: fleet.Settled},
		{name: "suspended source at its pin", source: []func(*fleet.Source){suspended}, state: fleet.Settled},
		{name: "suspended source with a candidate", source: []func(*fleet.Source){suspended, candidate}, state: fleet.Pending, blocked: "SelfHeld"},
		{name: "suspended node: generations are ignored", node: suspendNode, state: fleet.Settled},
		{name: "suspended, never pinned, ready", source: []func(*fleet.Source){unpinned, suspended, unseen}, state: fleet.Settled},
		{name: "suspended, never pinned, not ready", source: []func(*fleet.Source){unpinned, suspended, notReady}, state: fleet.Converging},
		{name: "suspended, never pinned, failing", source: []func(*fleet.Source){unpinned, suspended}, node: failing, state: fleet.Unhealthy},
		{name: "suspended, pinned once, needs an observation", source: []func(*fleet.Source){unpinned, suspended, unseen,
			func(s *fleet.Source) { s.Record = newCommit }}, state: fleet.Pending, blocked: "SelfUnobserved"},
		{name: "the ref is not sequenced any more", source: []func(*fleet.Source){unseen, func(s *fleet.Source) { s.Ref, s.RefStyle = "", "semver: 1.x" }}, state: fleet.Settled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := newFixture().source("x", tt.source...)
			if tt.node == nil {
				tt.node = func(*fleet.Node) {}
			}
			e := f.node("x", "x", tt.node).evaluate()
			n := e.node("x")
			g.Expect(n.Hold).NotTo(BeNil())
			g.Expect(n.State).To(Equal(tt.state))
			g.Expect(e.blocked("x")).To(Equal(tt.blocked))
			g.Expect(e.Moves).To(BeEmpty(), "a held source is never moved")
		})
	}
}

// TestHold: whose the source is, and why.
func TestHold(t *testing.T) {
	t.Parallel()
	behind := func(r *fleet.Release) { r.Suspended, r.Chart.Version = true, "0.1.0+2222" }
	tests := []struct {
		name string
		f    *fixture
		want *fleet.Hold
	}{
		{"nobody holds it", newFixture().pair("x"), nil},
		{"HandPin", newFixture().source("x", func(s *fleet.Source) { s.Claim, s.Manager = fleet.ClaimHandPin, "kubectl-edit" }).node("x", "x"),
			&fleet.Hold{Reason: fleet.HandPin, Manager: "kubectl-edit"}},
		{"a claim without a commit holds nothing", newFixture().source("x", unpinned, func(s *fleet.Source) { s.Claim = fleet.ClaimHandPin }).node("x", "x"), nil},
		{"Declared", newFixture().source("x", func(s *fleet.Source) { s.Claim, s.Manager = fleet.ClaimDeclared, "kustomize-controller" }).node("x", "x"),
			&fleet.Hold{Reason: fleet.Declared, Manager: "kustomize-controller"}},
		{"Suspend: the source", newFixture().source("x", func(s *fleet.Source) { s.Suspended = true }).node("x", "x"), &fleet.Hold{Reason: fleet.Suspend}},
		{"Suspend: a selected node", newFixture().pair("x").node("y", "x", suspendNode), &fleet.Hold{Reason: fleet.Suspend}},
		{"a suspended sibling that nobody selected is held alone", newFixture().pair("x").node("y", "x", unselected, suspendNode), nil},
		{"Suspend: a release that is behind", newFixture().pair("x").release("r", "x", "x", behind), &fleet.Hold{Reason: fleet.Suspend}},
		{"a suspended release that is not behind", newFixture().pair("x").release("r", "x", "x", func(r *fleet.Release) { r.Suspended = true }), nil},
		{"UnsupportedRef: it carries our pin", newFixture().source("x", func(s *fleet.Source) { s.Ref = "" }).node("x", "x"), &fleet.Hold{Reason: fleet.UnsupportedRef}},
		{"once let go of it is a gate", newFixture().source("x", func(s *fleet.Source) { s.Ref, s.Owner = "", "" }).node("x", "x"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(tt.f.evaluate().node("x").Hold).To(Equal(tt.want))
		})
	}
	t.Run("the sibling that is held alone", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		e := newFixture().source("x", candidate).node("x", "x").node("y", "x", unselected, suspendNode).evaluate()
		g.Expect(e.node("y").Hold).To(Equal(&fleet.Hold{Reason: fleet.Suspend}))
		g.Expect(e.source("x").Hold).To(BeNil())
		kind, _ := e.move("x")
		g.Expect(kind).To(Equal(fleet.Advance), "it moves without the sibling")
	})
}
