// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// check is one condition of admission. It returns why the source must wait, and
// the node that is concerned (none for the source as a whole), or nothing. A new
// reason to wait is one more check.
type check func(j *judge, s *source) (*Blocker, int32)

// checks in the order in which they are asked; the first that objects names the
// reason.
var checks = []check{
	perNode(checkCycle),
	checkContested,
	checkHeld,
	checkObserved,
	checkEnrolled,
	perNode(checkBehindContested),
	perNode(checkGate),
	perNode(checkFresh),
}

// nodeChecks are those that concern nodes, in the same order.
var nodeChecks = []func(*judge, int32) *Blocker{checkCycle, checkBehindContested, checkGate, checkFresh}

// admit decides for every candidate whether it may move (design: admissible).
func (j *judge) admit() {
	for i := range j.sources {
		s := &j.sources[i]
		if s.keeper == none || !s.pending() {
			continue
		}
		s.blocker, s.culprit = j.firstObjection(s)
		s.movable = s.blocker == nil
		if j.suspends(s) && (s.culprit == none || !j.cyclic(s.culprit)) {
			s.blocker, s.culprit = &Blocker{Reason: Suspended}, none
		}
	}
}

// firstObjection asks the checks in their order.
func (j *judge) firstObjection(s *source) (*Blocker, int32) {
	for _, c := range checks {
		if b, v := c(j, s); b != nil {
			return b, v
		}
	}
	return nil, none
}

// suspends tells whether the Wavefront that keeps the source is suspended.
func (j *judge) suspends(s *source) bool {
	if s.keeper >= 0 {
		return j.peers[s.keeper].Suspended
	}
	return j.in.Self.Suspended
}

// perNode asks for every selected node of the source. Siblings that nobody
// selected move along and are judged where somebody depends on them; their edges
// do not hold the source.
func perNode(c func(*judge, int32) *Blocker) check {
	return func(j *judge, s *source) (*Blocker, int32) {
		for _, v := range s.nodes {
			if !j.nodes[v].selected {
				continue
			}
			if b := c(j, v); b != nil {
				return b, v
			}
		}
		return nil, none
	}
}

// checkCycle: nodes on a cycle, and nodes behind one, are blocked.
func checkCycle(j *judge, v int32) *Blocker {
	if !j.cyclic(v) {
		return nil
	}
	b := &Blocker{Reason: GraphCycle}
	if j.behindCycle[v] {
		b.Ancestor = j.nodeIDs[j.ranked(j.down[v].cycle)]
	}
	return b
}

// checkContested: a source that a contesting peer has in scope too is moved by
// neither.
func checkContested(_ *judge, s *source) (*Blocker, int32) {
	if s.contested {
		return &Blocker{Reason: Contested, Ancestor: s.in.ID}, none
	}
	return nil, none
}

// checkHeld: a held source is not the controller's to move.
func checkHeld(_ *judge, s *source) (*Blocker, int32) {
	if s.hold != nil {
		return &Blocker{Reason: SelfHeld}, none
	}
	return nil, none
}

// checkObserved: an old observation says nothing of what is there now.
func checkObserved(_ *judge, s *source) (*Blocker, int32) {
	if !s.fresh() {
		return &Blocker{Reason: SelfUnobserved}, none
	}
	return nil, none
}

// checkEnrolled: an initial pin is let finish, or be set aside, before the first
// advance. One that was set aside may be cured by a newer commit.
func checkEnrolled(_ *judge, s *source) (*Blocker, int32) {
	if s.notEnrolled && !s.enrolmentFailed {
		return &Blocker{Reason: NotEnrolled}, none
	}
	return nil, none
}

// checkBehindContested: what is behind a contested source does not move either.
func checkBehindContested(j *judge, v int32) *Blocker {
	if c := j.down[v].contested; c.found() {
		return &Blocker{Reason: Contested, Ancestor: j.sourceIDs[j.nodes[j.ranked(c)].source]}
	}
	return nil
}

// checkGate: every ancestor outside the group is settled. The nearest one that
// is not is named.
func checkGate(j *judge, v int32) *Blocker {
	if j.gate(v) {
		return nil
	}
	a := j.ranked(j.down[v].gateBlocker)
	return &Blocker{Reason: j.ancestorReason(a), Ancestor: j.nodeIDs[a]}
}

// checkFresh is the freshness rule: for every observed source of an ancestor
// outside the group, the latest observation started after the one that first
// returned the candidate had completed, and replicaLag after it.
func checkFresh(j *judge, v int32) *Blocker {
	rank := j.down[v].gateOldest.rank
	if rank == none || j.lacks(freshnessRule) {
		return nil
	}
	a := j.nodeRanking.order[rank]
	first := j.sources[j.nodes[v].source].counting.First
	if j.latestStart(a).After(first, j.in.Self.ReplicaLag) {
		return nil
	}
	return &Blocker{Reason: AncestorUnobserved, Ancestor: j.nodeIDs[a]}
}

// ranked is the number of the nearest node.
func (j *judge) ranked(a nearest) int32 { return j.nodeRanking.order[a.rank()] }

// latestStart is when the latest observation of the node's source started; the
// zero Instant if none counts.
func (j *judge) latestStart(v int32) Instant {
	if s := &j.sources[j.nodes[v].source]; s.counted {
		return s.since
	}
	return Instant{}
}

// ancestorReason is the actual trouble of an unsettled ancestor. It is total.
func (j *judge) ancestorReason(a int32) Reason {
	n := &j.nodes[a]
	switch {
	case n.in == nil:
		return AncestorMissing
	case n.unhealthy:
		return AncestorUnhealthy
	case n.pinned && j.sources[n.source].notEnrolled:
		return AncestorNotEnrolled
	case n.pinned && j.sources[n.source].unseen:
		return AncestorUnobserved
	case j.stuck(a):
		return AncestorHeld
	}
	return AncestorPending
}
