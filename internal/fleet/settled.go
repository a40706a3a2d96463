// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// judgeNodes judges every node by itself.
func (j *judge) judgeNodes(out *Evaluation) {
	for _, v := range j.places.node {
		if v != none && j.nodes[v].member {
			j.judgeNode(v)
		}
	}
	for v := range j.nodes {
		if n := &j.nodes[v]; n.in == nil && n.member {
			n.verdict, n.trouble = Undecided, "does not exist"
		}
	}
	j.entangled()
	j.reportUnconfirmed(out)
}

// judgeNode judges one node by itself, without its ancestors.
func (j *judge) judgeNode(v int32) {
	n := &j.nodes[v]
	if n.source != none {
		j.pinNode(n, &j.sources[n.source])
	}
	if len(n.in.Refused) > 0 {
		j.refusing = append(j.refusing, v)
	}
	n.hold = j.nodeHold(n)
	j.judgeHealth(v)
	n.trouble = j.trouble(v)
	n.unhealthy = n.trouble != ""
	if !n.unhealthy && j.wouldSettle(n) {
		n.unconfirmed = j.demandsConfirmation(n) && !n.in.Confirmed
		n.settled = !n.unconfirmed
	}
}

// pinNode tells a node that the pin of its source moves it.
func (j *judge) pinNode(n *node, s *source) {
	if s.keeper == none {
		return
	}
	n.pinned, n.selected = true, j.selects(s, n)
}

// judgeHealth establishes verdict, readiness and the state of charts.
func (j *judge) judgeHealth(v int32) {
	n := &j.nodes[v]
	var s *source
	if n.source != none {
		s = &j.sources[n.source]
	}
	n.verdict = j.judgeVerdict(n.in, s)
	j.noteChange(j.verdictChanges(n.in, n.verdict, s))
	if !n.pinned {
		n.ready = n.verdict == Good
		return
	}
	n.ready = n.verdict == Good && (j.lacks(attemptedRule) || n.in.LastApplied.Same(s.pin) && n.in.LastAttempted.Same(s.pin))
	if len(s.releases) > 0 {
		j.releases[v] = j.releasesOf(s, v)
	}
	n.charts = j.chartsConverged(s, v)
}

// noteChange keeps the soonest moment at which time alone changes a verdict.
func (j *judge) noteChange(in time.Duration) {
	if in > 0 && (j.undecidedIn == 0 || in < j.undecidedIn) {
		j.undecidedIn = in
	}
}

// wouldSettle tells whether the node is settled by what caches show.
func (j *judge) wouldSettle(n *node) bool {
	switch {
	case !n.pinned:
		return j.gateSettles(n)
	case n.hold != nil:
		return j.heldSettles(n)
	}
	return j.pinnedSettles(n)
}

// pinnedSettles is the rule of a pinned node (design: settled): its source is
// pinned, nothing is pending, the observation is fresh, and artifact, charts and
// the node itself are at the pin and healthy.
func (j *judge) pinnedSettles(n *node) bool {
	s := &j.sources[n.source]
	return s.pin != "" && !s.notEnrolled &&
		(!s.pending() || j.lacks(pendingRule)) && s.fresh() &&
		s.atPin && n.charts && n.ready
}

// gateSettles is the rule of a gate: a good verdict, and applied at its source's
// artifact where that source can be read. A floating gate in the middle of an
// update is not settled.
func (j *judge) gateSettles(n *node) bool {
	if n.verdict != Good || n.source == none {
		return n.verdict == Good
	}
	return restsAt(n.in, j.sources[n.source].in.Artifact)
}

// restsAt tells whether the node is applied at the revision and not in the
// middle of applying another: its source may have gone there and back meanwhile.
func restsAt(n *Node, r Revision) bool {
	return n.LastApplied.Same(r) && (n.LastAttempted == "" || n.LastAttempted.Same(r))
}

// heldSettles is the rule of a held node: nothing is pending on its ref, its
// verdict is good, its charts have converged and, if its source carries a pin,
// it is applied at that pin; it needs an observation like any other. A held
// source that was never pinned must be ready itself and needs none.
func (j *judge) heldSettles(n *node) bool {
	s := &j.sources[n.source]
	if s.pending() || n.verdict != Good || !n.charts || (s.observed && !s.fresh()) {
		return false
	}
	if s.pin != "" {
		return s.atPin && restsAt(n.in, s.pin)
	}
	if s.neverPinned() && (s.in.Ready.Status != True || j.lacks(neverPinnedRule)) {
		return false
	}
	return n.in.Suspended || restsAt(n.in, s.in.Artifact)
}

// demandsConfirmation tells whether a node must be read live before it first
// counts as settled at its pin: every node of a source that carries one, real
// or virtual. A gate has no pin to be out of step with.
func (j *judge) demandsConfirmation(n *node) bool {
	return n.pinned && j.sources[n.source].pin != ""
}
