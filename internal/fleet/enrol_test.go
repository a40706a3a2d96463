// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestInitialPin: ungated, at the artifact, or at the first observed commit if
// there never was one; and a pin that vanished is restored while the artifact is
// still at it.
func TestInitialPin(t *testing.T) {
	t.Parallel()
	noArtifact := func(s *fleet.Source) { s.Artifact = "" }
	record := func(r fleet.Revision) func(*fleet.Source) { return func(s *fleet.Source) { s.Record = r } }
	shadow := func(in *fleet.Input) { in.Self.Mode = fleet.Shadow }
	tests := []struct {
		name   string
		input  func(*fleet.Input)
		source []func(*fleet.Source)
		node   func(*fleet.Node)
		kind   fleet.MoveKind
		to     fleet.Revision
		void   bool
	}{
		{name: "at its artifact", kind: fleet.Initial, to: oldCommit},
		{name: "at its artifact, whatever the head is", source: []func(*fleet.Source){candidate}, kind: fleet.Initial, to: oldCommit},
		{name: "at its artifact, before it is observed", source: []func(*fleet.Source){func(s *fleet.Source) { s.Observed = nil }}, kind: fleet.Initial, to: oldCommit},
		{name: "ungated", node: after("gone"), kind: fleet.Initial, to: oldCommit},
		{name: "not before the present generation is observed", source: []func(*fleet.Source){func(s *fleet.Source) { s.Generation = 2 }}},
		{name: "not while the source is not ready", source: []func(*fleet.Source){func(s *fleet.Source) { s.Ready.Status = fleet.False }}},
		{name: "never had an artifact: at the first observed commit", source: []func(*fleet.Source){noArtifact, candidate}, kind: fleet.Initial, to: newCommit},
		{name: "never had an artifact, not observed", source: []func(*fleet.Source){noArtifact, func(s *fleet.Source) { s.Observed = nil }}},
		{name: "never had an artifact, observation of another URL", source: []func(*fleet.Source){noArtifact, func(s *fleet.Source) { s.URL = "ssh://other" }}},
		{name: "not when held", source: []func(*fleet.Source){func(s *fleet.Source) { s.Suspended = true }}},
		{name: "not when a selected node is suspended", node: suspendNode},
		{name: "not while suspended", input: func(in *fleet.Input) { in.Self.Suspended = true }},
		{name: "not while being deleted", input: func(in *fleet.Input) { in.Self.Deleting = true }},
		{name: "restored: the artifact is still at the record", source: []func(*fleet.Source){record(oldCommit), candidate}, kind: fleet.Restore, to: oldCommit},
		{name: "restored although not ready", source: []func(*fleet.Source){record(oldCommit), func(s *fleet.Source) { s.Ready.Status = fleet.False }}, kind: fleet.Restore, to: oldCommit},
		{name: "the source has floated on: the record is void", source: []func(*fleet.Source){record(newCommit)}, kind: fleet.Initial, to: oldCommit, void: true},
		{name: "a record made for another URL or ref is void", source: []func(*fleet.Source){func(s *fleet.Source) { s.VoidRecord = true }}, kind: fleet.Initial, to: oldCommit, void: true},
		{name: "in Shadow it asks for the virtual pin", input: shadow, kind: fleet.Initial, to: oldCommit},
		{name: "in Shadow nothing is restored", input: shadow, source: []func(*fleet.Source){record(oldCommit)}, kind: fleet.Initial, to: oldCommit, void: true},
		{name: "in Shadow not with a virtual pin", input: shadow, source: []func(*fleet.Source){func(s *fleet.Source) { s.VirtualPin = oldCommit }}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := newFixture().source("x", append([]func(*fleet.Source){unpinned}, tt.source...)...)
			if tt.node == nil {
				tt.node = func(*fleet.Node) {}
			}
			if tt.input != nil {
				f.with(tt.input)
			}
			e := f.node("x", "x", tt.node).evaluate()
			kind, to := e.move("x")
			g.Expect(kind).To(Equal(tt.kind))
			g.Expect(to).To(Equal(tt.to))
			if tt.kind != "" {
				g.Expect(e.Moves[0].VoidRecord).To(Equal(tt.void))
				g.Expect(e.Moves[0].From).To(BeEmpty())
			}
		})
	}
}

// TestEnrolmentPacing: at most ten initially pinned sources at a time that
// source-controller has not reconciled yet, each slot free again on success or
// after the source's timeout.
func TestEnrolmentPacing(t *testing.T) {
	t.Parallel()
	cloning := func(age time.Duration) func(*fleet.Source) {
		return func(s *fleet.Source) { s.Initial, s.Reconciled, s.PinnedAt = true, false, clock.Add(-age) }
	}
	tests := []struct {
		name    string
		pinned  int
		change  func(*fleet.Source)
		waiting int
		moves   int
	}{
		{"all at once if they are few", 0, nil, 7, 7},
		{"ten at most", 0, nil, 25, 10},
		{"those that are being cloned count", 4, cloning(time.Second), 25, 6},
		{"no slot is free", 10, cloning(59 * time.Second), 25, 0},
		{"slots are free again after the timeout", 10, cloning(time.Minute), 25, 10},
		{"and on success", 10, func(s *fleet.Source) { s.Initial, s.PinnedAt = true, clock.Add(-time.Second) }, 25, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := newFixture()
			for i := range tt.pinned {
				f.source("a"+name(i), tt.change).node("a"+name(i), "a"+name(i))
			}
			for i := range tt.waiting {
				f.source("b"+name(i), unpinned).node("b"+name(i), "b"+name(i))
			}
			e := f.evaluate()
			g.Expect(e.Moves).To(HaveLen(tt.moves))
			for i, m := range e.Moves {
				g.Expect(m.Source).To(Equal(source("b" + name(i))))
			}
		})
	}
	t.Run("those that can't be written keep nobody waiting", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		f := newFixture()
		for i := range 12 {
			f.source(name(i), unpinned, func(s *fleet.Source) {
				if i < 10 {
					s.PinFailures = 1
				}
			}).node(name(i), name(i))
		}
		moved := names(sourcesOf(f.evaluate().Moves))
		g.Expect(moved).To(HaveLen(10))
		g.Expect(moved).To(ContainElements(name(10), name(11)))
	})
	t.Run("virtual pins cost no clone", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		f := newFixture().with(func(in *fleet.Input) { in.Self.Mode = fleet.Shadow })
		for i := range 25 {
			f.source(name(i), unpinned).node(name(i), name(i))
		}
		g.Expect(f.evaluate().Moves).To(HaveLen(25))
	})
}

// TestEnrolment: a source is not enrolled before it is reconciled at its initial
// pin. One that takes longer than its timeout is set aside and holds up nobody
// but its descendants; a newer commit may cure it.
func TestEnrolment(t *testing.T) {
	t.Parallel()
	cloning := func(age time.Duration) func(*fleet.Source) {
		return func(s *fleet.Source) { s.Initial, s.Reconciled, s.PinnedAt = true, false, clock.Add(-age) }
	}
	tests := []struct {
		name   string
		source []func(*fleet.Source)
		state  fleet.State
		failed bool
		phase  fleet.Phase
	}{
		{"waits for its pin", []func(*fleet.Source){unpinned}, fleet.Pending, false, fleet.Advancing},
		{"can't be fetched, so there is nothing to pin", []func(*fleet.Source){unpinned, func(s *fleet.Source) {
			s.FetchFailed, s.Ready.Status = true, fleet.False
		}}, fleet.Pending, true, fleet.Blocked},
		{"is being cloned", []func(*fleet.Source){cloning(time.Second)}, fleet.Pending, false, fleet.Advancing},
		{"is being cloned, with a candidate", []func(*fleet.Source){cloning(time.Second), candidate}, fleet.Pending, false, fleet.Advancing},
		{"is set aside", []func(*fleet.Source){cloning(time.Minute)}, fleet.Pending, true, fleet.Blocked},
		{"is set aside, with a candidate", []func(*fleet.Source){cloning(time.Minute), candidate}, fleet.Admissible, true, fleet.Advancing},
		{"is enrolled", []func(*fleet.Source){func(s *fleet.Source) { s.Initial = true }}, fleet.Settled, false, fleet.Quiescent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := newFixture().source("x", tt.source...).node("x", "x").evaluate()
			g.Expect(e.node("x").State).To(Equal(tt.state))
			g.Expect(e.source("x").EnrolmentFailed).To(Equal(tt.failed))
			g.Expect(e.source("x").NotEnrolled).To(Equal(tt.state != fleet.Settled))
			g.Expect(e.Phase).To(Equal(tt.phase))
		})
	}
}

// TestShadow: a virtual pin takes the pin's place in every rule.
func TestShadow(t *testing.T) {
	t.Parallel()
	virtual := func(r fleet.Revision) func(*fleet.Source) { return func(s *fleet.Source) { s.VirtualPin = r } }
	tests := []struct {
		name   string
		mode   fleet.Mode
		source []func(*fleet.Source)
		pin    fleet.Revision
		real   bool
		state  fleet.State
	}{
		{"a real pin is judged by", fleet.Shadow, []func(*fleet.Source){virtual(newCommit)}, oldCommit, true, fleet.Settled},
		{"a real pin with a candidate may be announced", fleet.Shadow, []func(*fleet.Source){candidate}, oldCommit, true, fleet.Admissible},
		{"the virtual pin takes its place", fleet.Shadow, []func(*fleet.Source){unpinned, virtual(oldCommit)}, oldCommit, false, fleet.Settled},
		{"the virtual pin has a candidate", fleet.Shadow, []func(*fleet.Source){unpinned, virtual(oldCommit), candidate}, oldCommit, false, fleet.Admissible},
		{"the artifact is past the virtual pin", fleet.Shadow, []func(*fleet.Source){unpinned, virtual(oldCommit), func(s *fleet.Source) { s.Artifact = newCommit }}, oldCommit, false, fleet.Converging},
		{"without one the artifact is assumed", fleet.Shadow, []func(*fleet.Source){unpinned}, oldCommit, false, fleet.Settled},
		{"in Enforce virtual pins are dropped", fleet.Enforce, []func(*fleet.Source){unpinned, virtual(newCommit)}, "", false, fleet.Pending},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := newFixture().with(func(in *fleet.Input) { in.Self.Mode = tt.mode }).source("x", tt.source...).node("x", "x").evaluate()
			g.Expect(e.node("x").Pin).To(Equal(tt.pin))
			g.Expect(e.source("x").Real).To(Equal(tt.real))
			g.Expect(e.node("x").State).To(Equal(tt.state))
		})
	}
}
