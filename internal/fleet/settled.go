// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// judgeNode judges one node by itself, without its ancestors.
func (j *judge) judgeNode(v int32) {
	n := &j.nodes[v]
	if n.in == nil {
		n.verdict = Undecided
		n.trouble = "does not exist"
		return
	}
	n.hold = j.nodeHold(n)
	j.judgeHealth(n)
	n.trouble = j.trouble(n)
	n.unhealthy = n.trouble != ""
	if !n.unhealthy && j.wouldSettle(n) {
		n.unconfirmed = j.demandsConfirmation(n) && !n.in.Confirmed
		n.settled = !n.unconfirmed
	}
}

// judgeHealth establishes verdict, readiness and the state of charts.
func (j *judge) judgeHealth(n *node) {
	var artifactAt time.Time
	var pin Revision
	if n.source != none {
		artifactAt, pin = j.sources[n.source].in.ArtifactAt, j.sources[n.source].pin
	}
	n.verdict = j.judgeVerdict(n.in, pin, artifactAt)
	n.undecidedIn = j.verdictChanges(n.in, n.verdict, artifactAt)
	if !n.pinned {
		n.ready = n.verdict == Good
		return
	}
	s := &j.sources[n.source]
	n.ready = n.verdict == Good && (j.lacks(attemptedRule) || n.in.LastApplied.Same(s.pin) && n.in.LastAttempted.Same(s.pin))
	n.releases = j.releasesOf(s, n)
	n.charts = j.chartsConverged(s, n)
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
