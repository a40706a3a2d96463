// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// stateOf is the state table, total and in its order: the first that applies.
func (j *judge) stateOf(n *node) State {
	switch {
	case n.in == nil, n.blocker != nil:
		return Pending
	case n.pinned && j.sources[n.source].admissible():
		return Admissible
	case n.unhealthy:
		return Unhealthy
	case n.settled:
		return Settled
	}
	return Converging
}

// nodeBlocker says why a node waits: it is in or behind a cycle, has a candidate
// that must wait, waits to be enrolled, or can't be observed. Nil if it waits
// for nothing; a missing node waits for itself, which its Missing says.
func (j *judge) nodeBlocker(v int32) *Blocker {
	n := &j.nodes[v]
	if n.in == nil {
		return nil
	}
	if b := checkCycle(j, v); b != nil {
		return b
	}
	if !n.pinned {
		return nil
	}
	s := &j.sources[n.source]
	switch {
	case s.admissible():
		return nil
	case s.pending():
		return j.candidateBlocker(s, v)
	case s.notEnrolled:
		return j.enrolmentBlocker(s)
	case s.unseen:
		return &Blocker{Reason: SelfUnobserved}
	}
	return nil
}

// candidateBlocker says why a node's candidate waits. Where a node is the reason
// why the source does, another node of the source has either a reason of its
// own or waits for that one.
func (j *judge) candidateBlocker(s *source, v int32) *Blocker {
	if s.culprit == none || s.culprit == v {
		return s.blocker
	}
	if j.nodes[v].selected {
		for _, c := range nodeChecks {
			if b := c(j, v); b != nil {
				return b
			}
		}
	}
	return &Blocker{Reason: SharedSourceBlocked, Ancestor: j.nodeIDs[s.culprit]}
}

// enrolmentBlocker says why a source waits for its initial pin.
func (j *judge) enrolmentBlocker(s *source) *Blocker {
	switch {
	case s.pin == "" && j.suspends(s):
		return &Blocker{Reason: Suspended}
	case s.pin == "" && s.contested:
		return &Blocker{Reason: Contested, Ancestor: s.in.ID}
	}
	return &Blocker{Reason: NotEnrolled}
}

// phaseOf is what one node makes of the phase of the fleet (design: phase). That
// the Wavefront is suspended changes nothing here.
func (j *judge) phaseOf(v int32) Phase {
	switch {
	case j.needsHelp(v):
		return Blocked
	case !j.nodes[v].settled:
		return Advancing
	}
	return Quiescent
}

// worse returns the phase that the fleet is in if one part is in each.
func worse(a, b Phase) Phase {
	switch {
	case a == Blocked || b == Blocked:
		return Blocked
	case a == Advancing || b == Advancing:
		return Advancing
	}
	return Quiescent
}

// needsHelp tells whether the node can't move without help: it is unhealthy,
// missing or cyclic and has no admissible candidate of its own, or its source is
// held or contested with a candidate, or can't be observed or enrolled.
func (j *judge) needsHelp(v int32) bool {
	n := &j.nodes[v]
	if n.in == nil {
		return true
	}
	if !n.pinned {
		return n.unhealthy || j.cyclic(v)
	}
	s := &j.sources[n.source]
	switch {
	case n.unhealthy, j.cyclic(v):
		return !s.movable
	case s.pending():
		return s.hold != nil || s.contested || s.unseen
	}
	return s.unseen || s.enrolmentFailed || (s.contested && s.notEnrolled)
}
