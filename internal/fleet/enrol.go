// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"
	"time"
)

const (
	// enrolmentSlots is how many initially pinned sources may be waiting for
	// source-controller at a time: a pin makes it clone in full.
	enrolmentSlots = 10
	// defaultTimeout is source-controller's, for a source that states none.
	defaultTimeout = time.Minute
)

// enrolment establishes whether the source waits for its initial pin, or for
// source-controller to reconcile at it for the first time. Held sources are not
// enrolled; what they wait for is somebody.
func (j *judge) enrolment(s *source) {
	s.cloning = s.real && j.takesSlot(s.in)
	if s.hold != nil {
		return
	}
	waiting := s.real && s.in.Initial && !s.in.Reconciled
	s.notEnrolled = s.pin == "" || waiting
	s.enrolmentFailed = (s.pin == "" && s.in.FetchFailed) || (waiting && !s.cloning)
}

// takesSlot tells whether an initial pin is still being cloned: not reconciled
// yet, and pinned for less than the source's timeout. One that takes longer is
// set aside.
func (j *judge) takesSlot(s *Source) bool {
	return s.Initial && !s.Reconciled && j.in.Clock.Sub(s.PinnedAt) < enrolmentTimeout(s)
}

// enrolmentTimeout is how long an initial pin may take.
func enrolmentTimeout(s *Source) time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return defaultTimeout
}

// artifactOfRef tells whether the artifact is one of the present URL and ref:
// source-controller has observed the present generation and is ready.
func artifactOfRef(s *Source) bool {
	return s.Artifact != "" && s.Ready.Status == True && s.ObservedGeneration == s.Generation
}

// usableRecord tells whether a pin that vanished can be put back: the artifact
// is still at the record.
func usableRecord(s *Source) bool { return s.Artifact.Same(s.Record) }

// moves lists what is to be written now, in the order of the sources' IDs.
func (j *judge) moves() []Move {
	if j.in.Self.Suspended || j.in.Self.Deleting {
		return nil
	}
	var result []Move
	var initial []int32
	for i := range j.sources {
		s := &j.sources[i]
		switch {
		case s.keeper != self || s.contested:
		case s.admissible():
			result = append(result, j.move(s, Advance, s.candidate))
		case j.unpinned(s) && j.in.Self.Mode == Enforce && usableRecord(s.in):
			result = append(result, j.move(s, Restore, s.in.Record))
		case j.unpinned(s) && s.hold == nil && initialTarget(s) != "":
			initial = append(initial, int32(i))
		}
	}
	for _, i := range j.paced(j.sourceRanking.sorted(initial)) {
		s := &j.sources[i]
		result = append(result, j.move(s, Initial, initialTarget(s)))
	}
	slices.SortFunc(result, func(a, b Move) int { return compareIDs(&a.Source, &b.Source) })
	return result
}

// unpinned tells whether the source carries neither a real nor, in Shadow, a
// virtual pin.
func (j *judge) unpinned(s *source) bool {
	return !s.real && (j.in.Self.Mode != Shadow || s.in.VirtualPin == "")
}

// initialTarget is where an initial pin freezes the source (design: initial
// pin): at its artifact or, if it has none, at the first observed commit; empty
// as long as neither can be told.
func initialTarget(s *source) Revision {
	switch {
	case artifactOfRef(s.in):
		return s.in.Artifact
	case s.in.Artifact == "" && s.fresh():
		return s.counting.Commit
	}
	return ""
}

// paced keeps as many of the sources that wait for an initial pin as there are
// free slots. Those whose pin could not be written go to the end of the queue,
// so that they keep nobody waiting. Virtual pins cost no clone.
func (j *judge) paced(waiting []int32) []int32 {
	if j.in.Self.Mode == Shadow {
		return waiting
	}
	free := enrolmentSlots
	for i := range j.sources {
		if s := &j.sources[i]; s.keeper == self && s.cloning {
			free--
		}
	}
	slices.SortStableFunc(waiting, func(a, b int32) int {
		return cmp.Compare(j.sources[a].in.PinFailures, j.sources[b].in.PinFailures)
	})
	return waiting[:max(0, min(free, len(waiting)))]
}

// move builds a move of the source.
func (j *judge) move(s *source, kind MoveKind, to Revision) Move {
	m := Move{Kind: kind, Source: s.in.ID, From: s.pin, To: to}
	if kind == Initial {
		m.From, m.VoidRecord = "", s.in.VoidRecord || s.in.Record != ""
	}
	for _, v := range s.nodes {
		if j.nodes[v].selected {
			m.Nodes = append(m.Nodes, j.nodeIDs[v])
		}
	}
	return m
}
