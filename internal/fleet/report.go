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
			dependsOn = append(dependsOn, j.nodes[p].id)
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
	out.Sources = make([]SourceResult, 0, sources)
	members := make([]ID, 0, nodes)
	for i := range j.sources {
		s := &j.sources[i]
		if s.keeper != self {
			continue
		}
		start, rank := len(members), none
		for _, v := range s.nodes {
			members = append(members, j.nodes[v].id)
			rank = max(rank, j.nodes[v].wave)
		}
		out.Sources = append(out.Sources, SourceResult{})
		r := &out.Sources[len(out.Sources)-1]
		j.sourceResult(s, r)
		r.Nodes, r.Rank = members[start:len(members):len(members)], int(rank)
	}
}

// reportOddities lists sources whose ref is not sequenced, and references that
// are no edges.
func (j *judge) reportOddities(out *Evaluation) {
	for i := range j.sources {
		s := &j.sources[i]
		if s.in.Managed && s.in.Ref == "" && j.selectedHere(s) {
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
			out.Refused = append(out.Refused, RefusedReference{From: n.id, To: to})
		}
	}
}

// selectedHere tells whether the judged Wavefront selects a node of the source.
func (j *judge) selectedHere(s *source) bool {
	return slices.ContainsFunc(s.nodes, func(v int32) bool {
		return slices.Contains(j.nodes[v].in.SelectedBy, j.in.Self.Name)
	})
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
	*r = NodeResult{
		ID: n.id, Role: Gate, State: n.state, Missing: n.in == nil, Wave: int(n.wave),
		Verdict: n.verdict, Ready: n.ready, Hold: n.hold, Blocked: n.blocker,
		Unhealthy: n.unhealthy, Trouble: n.trouble,
		Settled: n.settled, Full: n.down.full, Gate: n.down.gate,
		InCycle: n.inCycle, BehindCycle: n.behindCycle,
	}
	if n.in == nil {
		return
	}
	r.UID, r.Source, r.Timeout = n.in.UID, n.in.Source, n.in.Timeout
	r.Selected = slices.Contains(n.in.SelectedBy, j.in.Self.Name)
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
	*r = SourceResult{
		ID: s.in.ID, UID: s.in.UID,
		Pin: s.pin, Real: s.real, Candidate: s.candidate, PendingSince: s.pendingSince(),
		Pending: s.pending(), Admissible: s.admissible(), AtPin: s.atPin, Hold: s.hold,
		Blocked:     j.sourceBlocker(s),
		NotEnrolled: s.notEnrolled, EnrolmentFailed: s.enrolmentFailed,
		FetchFailing: s.in.FetchFailed && s.pin != "", Contested: s.contested,
	}
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
