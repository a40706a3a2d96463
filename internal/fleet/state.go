// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// decideStates gives every node its state and says why it waits.
func (j *judge) decideStates() {
	for v := range j.nodes {
		n := &j.nodes[v]
		n.blocker = j.nodeBlocker(int32(v))
		n.state = j.stateOf(n)
	}
}

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
	return &Blocker{Reason: SharedSourceBlocked, Ancestor: *j.nodes[s.culprit].id}
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

// phase of the fleet (design: phase). That the Wavefront is suspended changes
// nothing here.
func (j *judge) phase() Phase {
	result := Quiescent
	for v := range j.nodes {
		n := &j.nodes[v]
		if j.needsHelp(n) {
			return Blocked
		}
		if !n.settled {
			result = Advancing
		}
	}
	return result
}

// needsHelp tells whether the node can't move without help: it is unhealthy,
// missing or cyclic and has no admissible candidate of its own, or its source is
// held or contested with a candidate, or can't be observed or enrolled.
func (j *judge) needsHelp(n *node) bool {
	if n.in == nil {
		return true
	}
	if !n.pinned {
		return n.unhealthy || n.cyclic()
	}
	s := &j.sources[n.source]
	switch {
	case n.unhealthy, n.cyclic():
		return !s.movable
	case s.pending():
		return s.hold != nil || s.contested || s.unseen
	}
	return s.unseen || s.enrolmentFailed || (s.contested && s.notEnrolled)
}
