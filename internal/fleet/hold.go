// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// carriesUnsupportedPin tells whether the source carries our pin although Git
// has since changed its ref to a style that is not sequenced.
func carriesUnsupportedPin(s *Source) bool {
	return s.Ref == "" && s.Pin != "" && s.Ours && s.Owner != ""
}

// sourceHold says why a source is not the controller's to move (design: holds);
// nil if it is. A claim holds a source only as long as its value is there.
func (j *judge) sourceHold(s *source) *Hold {
	switch {
	case j.lacks(holdRule):
		return nil
	case s.in.Claim == ClaimHandPin && s.in.Pin != "":
		return &Hold{Reason: HandPin, Manager: s.in.Manager}
	case s.in.Claim == ClaimDeclared && s.in.Pin != "":
		return &Hold{Reason: Declared, Manager: s.in.Manager}
	case carriesUnsupportedPin(s.in):
		return &Hold{Reason: UnsupportedRef}
	case s.in.Suspended, j.nodeSuspends(s), j.anyHeldBack(s.releases):
		return &Hold{Reason: Suspend}
	}
	return nil
}

// nodeSuspends tells whether a selected node of the source is suspended. (A
// suspended sibling that nobody selected is held alone.)
func (j *judge) nodeSuspends(s *source) bool {
	if s.keeper == self {
		return s.suspended
	}
	return slices.ContainsFunc(s.nodes, func(v int32) bool {
		n := &j.nodes[v]
		return n.suspended && j.selects(s, n)
	})
}

// heldBack tells whether a release is suspended while its chart has moved on.
func heldBack(r *Release) bool {
	return r.Suspended && (r.Chart == nil || r.LastAttemptedRevision != r.Chart.Version)
}

// nodeHold is the hold of the node's source, or its own: a suspended node stays
// behind when its source moves.
func (j *judge) nodeHold(n *node) *Hold {
	if !n.pinned {
		return nil
	}
	if s := &j.sources[n.source]; s.hold != nil {
		return s.hold
	}
	if n.suspended && !j.lacks(holdRule) {
		return &Hold{Reason: Suspend}
	}
	return nil
}

// stuck tells whether a held node can't reach its pin before somebody lets it:
// such a node is held up by its hold, where another one is merely converging.
func (j *judge) stuck(v int32) bool {
	n := &j.nodes[v]
	if n.in == nil {
		return false
	}
	if n.hold == nil {
		return n.suspended
	}
	s := &j.sources[n.source]
	return s.pending() || n.suspended || (s.in.Suspended && !s.atPin) || j.anyHeldBack(j.releasesAt(v))
}

// anyHeldBack tells whether one of the releases is suspended and behind.
func (j *judge) anyHeldBack(releases []int32) bool {
	for _, r := range releases {
		if heldBack(&j.in.Releases[r]) {
			return true
		}
	}
	return false
}
