// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"
)

// report renders the judgement; all lists are in the order of their IDs.
func (j *judge) report(out *Evaluation) {
	out.Phase = j.phase()
	out.Nodes = make([]NodeResult, len(j.nodes))
	dependsOn := make([]ID, 0, len(j.parents.to))
	for v := range j.nodes {
		start := len(dependsOn)
		for _, p := range j.parents.of(int32(v)) {
			dependsOn = append(dependsOn, *j.nodes[p].id)
		}
		r := &out.Nodes[v]
		j.nodeResult(&j.nodes[v], r)
		if len(dependsOn) > start {
			r.DependsOn = dependsOn[start:len(dependsOn):len(dependsOn)]
		}
		out.Counts.add(r)
	}
	j.reportSources(out)
	j.reportOddities(out)
	out.Moves = j.moves()
	j.refresh(out)
	out.Recheck = j.recheck()
}

// reportSources renders the sources in scope.
func (j *judge) reportSources(out *Evaluation) {
	sources, nodes := 0, 0
	for i := range j.sources {
		if s := &j.sources[i]; s.keeper == self {
			sources++
			nodes += len(s.nodes)
		}
	}
	if sources == 0 {
		return
	}
	out.Sources = make([]SourceResult, sources)
	members := make([]ID, 0, nodes)
	next := 0
	for i := range j.sources {
		s := &j.sources[i]
		if s.keeper != self {
			continue
		}
		r := &out.Sources[next]
		next++
		start, rank := len(members), none
		for _, v := range s.nodes {
			members = append(members, *j.nodes[v].id)
			rank = max(rank, j.nodes[v].wave)
		}
		j.sourceResult(s, r)
		r.Nodes, r.Rank = members[start:len(members):len(members)], int(rank)
	}
}

// reportOddities lists sources whose ref is not sequenced, and references that
// are no edges.
func (j *judge) reportOddities(out *Evaluation) {
	for i := range j.sources {
		s := &j.sources[i]
		if s.in.Ref == "" && s.in.Managed && j.selectedHere(s) {
			out.Unsupported = append(out.Unsupported, s.in.ID)
		}
	}
	for v := range j.nodes {
		n := &j.nodes[v]
		if n.in == nil || len(n.in.Refused) == 0 {
			continue
		}
		refused := slices.Clone(n.in.Refused)
		slices.SortFunc(refused, func(a, b ID) int { return compareIDs(&a, &b) })
		for _, to := range slices.Compact(refused) {
			out.Refused = append(out.Refused, RefusedReference{From: *n.id, To: to})
		}
	}
}

// selectedHere tells whether the judged Wavefront selects a node of the source.
func (j *judge) selectedHere(s *source) bool {
	return slices.ContainsFunc(s.nodes, func(v int32) bool { return j.nodes[v].own })
}

// add counts a node.
func (c *Counts) add(n *NodeResult) {
	c.Observed++
	if n.Role == Pinned {
		c.Pinned++
	} else {
		c.Gates++
	}
	switch n.State {
	case Settled:
		c.Settled++
	case Pending, Admissible:
		c.Pending++
	case Converging:
		c.Converging++
	case Unhealthy: // counted as a fact, below
	}
	if n.Unhealthy {
		c.Unhealthy++
	}
	if n.Hold != nil {
		c.Held++
	}
	if n.Blocked != nil {
		c.Blocked++
	}
}

// nodeResult renders a node.
func (j *judge) nodeResult(n *node, r *NodeResult) {
	r.ID, r.Role, r.State, r.Missing, r.Wave = *n.id, Gate, n.state, n.in == nil, int(n.wave)
	r.Verdict, r.Ready, r.Hold, r.Blocked = n.verdict, n.ready, n.hold, n.blocker
	r.Unhealthy, r.Trouble = n.unhealthy, n.trouble
	r.Settled, r.Full, r.Gate = n.settled, n.down.full, n.down.gate
	r.InCycle, r.BehindCycle = n.inCycle, n.behindCycle
	if n.in == nil {
		return
	}
	r.UID, r.Source, r.Timeout = n.in.UID, n.in.Source, n.in.Timeout
	r.Selected = n.own
	if n.source == none {
		return
	}
	s := &j.sources[n.source]
	if s.keeper >= 0 {
		r.Foreign = j.peers[s.keeper].Name
	}
	if !n.pinned {
		return
	}
	r.Role, r.Pin, r.Candidate = Pinned, s.pin, s.candidate
	r.ObservationError = s.in.ObservationError
	r.PendingSince = s.pendingSince()
	if s.counting != nil {
		r.Observed = s.counting.Commit
	}
}

// pendingSince is when the candidate was first seen.
func (s *source) pendingSince() time.Time {
	if s.pending() {
		return s.counting.FirstAt
	}
	return time.Time{}
}

// sourceResult renders a source in scope, without its nodes.
func (j *judge) sourceResult(s *source, r *SourceResult) {
	r.ID, r.UID, r.Pin, r.Real = s.in.ID, s.in.UID, s.pin, s.real
	r.Candidate, r.PendingSince, r.Pending = s.candidate, s.pendingSince(), s.pending()
	r.Admissible, r.AtPin, r.Contested = s.admissible(), s.atPin, s.contested
	r.Hold, r.Blocked = s.hold, j.sourceBlocker(s)
	r.NotEnrolled, r.EnrolmentFailed = s.notEnrolled, s.enrolmentFailed
	r.FetchFailing = s.in.FetchFailed && s.pin != ""
}

// sourceBlocker says why the source as a whole waits; nil if it does not.
func (j *judge) sourceBlocker(s *source) *Blocker {
	switch {
	case s.pending():
		return s.blocker
	case s.notEnrolled:
		return j.enrolmentBlocker(s)
	case s.unseen:
		return &Blocker{Reason: SelfUnobserved}
	}
	return nil
}
