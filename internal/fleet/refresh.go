// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"
)

// demand is the latest moment that the sources of a node and its ancestors must
// have been listed after, in the two flavours of descent.
type demand struct {
	full Instant
	gate Instant
}

// later returns the later of two moments.
func later(a, b Instant) Instant {
	if b.Seq > a.Seq {
		return b
	}
	return a
}

// refresh lists the sources that must be listed again: those whose own
// observation does not count, and observed ancestors of a candidate whose latest
// observation does not satisfy the freshness rule. A candidate that waits long
// for something else asks for one listing only: the moment it was first seen
// does not move.
func (j *judge) refresh(out *Evaluation) {
	wanted := j.demands()
	for i := range j.sources {
		s := &j.sources[i]
		if s.keeper == none || !s.observed {
			continue
		}
		if j.waitsForListings(s) {
			out.Waiting = append(out.Waiting, s.in.ID)
			continue
		}
		after := wanted[i]
		if s.counting == nil {
			after = later(after, s.in.PinSeen)
		}
		if !after.IsZero() && (s.counting == nil || !s.since.After(after, j.in.Self.ReplicaLag)) {
			out.Refresh = append(out.Refresh, Refresh{Source: s.in.ID, After: after})
		}
	}
	slices.SortFunc(out.Waiting, func(a, b ID) int { return compareIDs(&a, &b) })
	slices.SortFunc(out.Refresh, func(a, b Refresh) int { return compareIDs(&a.Source, &b.Source) })
}

// waitsForListings tells whether the source must not be listed while its
// ancestors are. On a busy branch a new commit would void the candidate for
// ever; half of staleAfter is as long as the ancestors may take.
func (j *judge) waitsForListings(s *source) bool {
	if !j.mayMove(s) || j.in.Now.At-s.since.At > j.in.Self.StaleAfter/2 {
		return false
	}
	return !j.freshAbove(s)
}

// freshAbove tells whether the source's candidate satisfies the freshness rule.
func (j *judge) freshAbove(s *source) bool {
	b, _ := perNode(checkFresh)(j, s)
	return b == nil
}

// mayMove tells whether the source has a candidate that asks for listings: one
// that this Wavefront may admit as soon as its ancestors allow it.
func (j *judge) mayMove(s *source) bool {
	if s.keeper != self || j.in.Self.Suspended || j.in.Self.Deleting || !s.pending() {
		return false
	}
	if s.blocker == nil {
		return true
	}
	switch s.blocker.Reason {
	case GraphCycle, Contested, SelfHeld, SelfUnobserved:
		return false
	default:
		return true
	}
}

// demands carries the moments at which candidates were first seen from leaves to
// roots, in one pass: the mirror of descend. The result is by source.
func (j *judge) demands() []Instant {
	result := make([]Instant, len(j.sources))
	wanted := j.raiseDemands()
	if wanted == nil {
		return result
	}
	for i := len(j.components.order) - 1; i >= 0; i-- {
		v := j.components.order[i]
		d := wanted[v]
		if n := &j.nodes[v]; n.source != none {
			result[n.source] = later(result[n.source], d.full)
		}
		both := later(d.full, d.gate)
		if both.IsZero() {
			continue
		}
		for _, p := range j.parents.of(v) {
			if j.group[p] == j.group[v] {
				wanted[p].gate = later(wanted[p].gate, d.gate)
				wanted[p].full = later(wanted[p].full, d.full)
			} else {
				wanted[p].full = later(wanted[p].full, both)
			}
		}
	}
	return result
}

// raiseDemands notes the demand of every candidate that waits for listings at its
// selected nodes; nil if there is none. (Where all ancestors of another are fresh,
// they satisfy its demand already.)
func (j *judge) raiseDemands() []demand {
	var wanted []demand
	for i := range j.sources {
		s := &j.sources[i]
		if !j.mayMove(s) || j.freshAbove(s) {
			continue
		}
		if wanted == nil {
			wanted = make([]demand, len(j.nodes))
		}
		for _, v := range s.nodes {
			if j.nodes[v].selected {
				wanted[v].gate = later(wanted[v].gate, s.counting.First)
			}
		}
	}
	return wanted
}

// recheck is how long from now time alone may change the evaluation; zero if it
// can't.
func (j *judge) recheck() time.Duration {
	var soonest time.Duration
	within := func(d time.Duration) {
		if d > 0 && (soonest == 0 || d < soonest) {
			soonest = d
		}
	}
	for i := range j.sources {
		s := &j.sources[i]
		if s.keeper == none {
			continue
		}
		if s.observed {
			within(s.since.At + j.in.Self.StaleAfter - j.in.Now.At + 1)
		}
		if s.cloning {
			within(s.in.PinnedAt.Add(enrolmentTimeout(s.in)).Sub(j.in.Clock))
		}
	}
	within(j.undecidedIn)
	return soonest
}
