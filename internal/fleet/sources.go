// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// judgeSources judges every source by itself.
func (j *judge) judgeSources() {
	for _, p := range j.places.source {
		if p != none && len(j.sources[p].nodes) > 0 {
			j.judgeSource(&j.sources[p])
		}
	}
}

// judgeSource establishes the facts of a source that the rules of its nodes
// stand on.
func (j *judge) judgeSource(s *source) {
	s.unsequenced = s.in.Ref == "" && s.in.Managed
	if s.keeper == none {
		return
	}
	s.hold = j.sourceHold(s)
	s.pin, s.real = j.effectivePin(s)
	if s.pin == "" && s.keeper >= 0 && j.peers[s.keeper].Mode == Shadow {
		s.keeper, s.hold = none, nil
		return
	}
	j.observe(s)
	s.atPin = s.in.Artifact.Same(s.pin)
	s.uid, s.fetchFailing = s.in.UID, s.in.FetchFailed && s.pin != ""
	s.troubled, s.failing = pinTroubled(s), s.in.ObservationError != ""
	j.enrolment(s)
}

// selects tells whether the Wavefront that keeps the source selects the node.
func (j *judge) selects(s *source, n *node) bool {
	if s.keeper == self {
		return n.own
	}
	return slices.Contains(n.in.SelectedBy, j.peers[s.keeper].Name)
}
