// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"
)

// report renders the judgement; all lists are in the order of their IDs.
func (j *judge) report(out *Evaluation) {
	out.Phase = Quiescent
	j.reportNodes(out)
	j.reportSources(out)
	j.reportOddities(out)
	out.Moves = j.moves()
	j.refresh(out)
	out.Recheck = j.recheck()
}

// reportNodes says of every node of the graph how it is and why it waits.
func (j *judge) reportNodes(out *Evaluation) {
	out.Nodes = make([]NodeResult, j.members)
	place := j.resultPlaces(&j.nodeRanking, j.members, func(v int32) bool { return j.nodes[v].member })
	for v := range j.nodes {
		n := &j.nodes[v]
		if !n.member {
			continue
		}
		n.blocker = j.nodeBlocker(int32(v))
		r := &out.Nodes[place(int32(v))]
		j.nodeResult(int32(v), r)
		out.Counts.add(r)
		out.Phase = worse(out.Phase, j.phaseOf(int32(v)))
	}
}

// reportSources renders the sources in scope.
func (j *judge) reportSources(out *Evaluation) {
	if j.kept == 0 {
		return
	}
	out.Sources = make([]SourceResult, j.kept)
	place := j.resultPlaces(&j.sourceRanking, j.kept, func(i int32) bool { return j.sources[i].keeper == self })
	for i := range j.sources {
		if j.sources[i].keeper == self {
			j.sourceResult(int32(i), &out.Sources[place(int32(i))])
		}
	}
}

// resultPlaces tells where each of count numbers is reported: at its rank, less
// those before it that are not reported.
func (j *judge) resultPlaces(r *ranking, count int, reported func(int32) bool) func(int32) int32 {
	if count == len(r.order) {
		return func(v int32) int32 { return r.rank[v] }
	}
	places, next := make([]int32, len(r.rank)), int32(0)
	for _, v := range r.order {
		if reported(v) {
			places[v] = next
			next++
		}
	}
	return func(v int32) int32 { return places[v] }
}

// reportUnconfirmed lists nodes that would be settled but for a live read.
func (j *judge) reportUnconfirmed(out *Evaluation) {
	var list []int32
	for v := range j.nodes {
		if j.nodes[v].unconfirmed {
			list = append(list, int32(v))
		}
	}
	for _, v := range j.nodeRanking.sorted(list) {
		out.Confirm = append(out.Confirm, j.nodeIDs[v])
	}
}

// reportOddities lists sources whose ref is not sequenced, and references that
// are no edges.
func (j *judge) reportOddities(out *Evaluation) {
	var unsupported []int32
	for i := range j.sources {
		if s := &j.sources[i]; s.unsequenced && j.selectedHere(s) {
			unsupported = append(unsupported, int32(i))
		}
	}
	for _, i := range j.sourceRanking.sorted(unsupported) {
		out.Unsupported = append(out.Unsupported, j.sourceIDs[i])
	}
	for _, v := range j.nodeRanking.sorted(j.refusing) {
		refused := slices.Clone(j.nodes[v].in.Refused)
		slices.SortFunc(refused, func(a, b ID) int { return compareIDs(&a, &b) })
		for _, to := range slices.Compact(refused) {
			out.Refused = append(out.Refused, RefusedReference{From: j.nodeIDs[v], To: to})
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

// nodeResult renders a node. The result is blank; what is rare is written only
// where there is something to write.
func (j *judge) nodeResult(v int32, r *NodeResult) {
	n := &j.nodes[v]
	r.ID, r.Role, r.State, r.Verdict, r.Missing = j.nodeIDs[v], Gate, j.stateOf(n), n.verdict, n.in == nil
	r.Wave, r.DependsOn = int(j.wave[v]), j.parentIDs(v)
	r.Ready, r.Unhealthy, r.Settled, r.Full, r.Gate = n.ready, n.unhealthy, n.settled, j.full(v), j.gate(v)
	r.InCycle, r.BehindCycle = j.inCycle[v], j.behindCycle[v]
	if n.trouble != "" {
		r.Trouble = n.trouble
	}
	if n.hold != nil || n.blocker != nil {
		r.Hold, r.Blocked = n.hold, n.blocker
	}
	if n.in == nil {
		return
	}
	r.UID, r.Source, r.Timeout, r.Selected = n.in.UID, n.in.Source, n.in.Timeout, n.own
	if n.source != none {
		j.sourceOfResult(n, &j.sources[n.source], r)
	}
}

// sourceOfResult renders what a node has of its source.
func (j *judge) sourceOfResult(n *node, s *source, r *NodeResult) {
	if s.keeper >= 0 {
		r.Foreign = j.peers[s.keeper].Name
	}
	if !n.pinned {
		return
	}
	r.Role, r.Pin, r.Observed = Pinned, s.pin, s.seen
	if s.failing {
		r.ObservationError = s.in.ObservationError
	}
	if s.pending() {
		r.Candidate, r.PendingSince = s.candidate, s.pendingSince()
	}
}

// parentIDs are the IDs of what a node depends on.
func (j *judge) parentIDs(v int32) []ID {
	from, to := j.parents.from[v], j.parents.from[v+1]
	if from == to {
		return nil
	}
	return j.dependsOn[from:to:to]
}

// pendingSince is when the candidate was first seen.
func (s *source) pendingSince() time.Time {
	if s.pending() {
		return s.counting.FirstAt
	}
	return time.Time{}
}

// sourceResult renders a source in scope. The result is blank.
func (j *judge) sourceResult(i int32, r *SourceResult) {
	s, rank := &j.sources[i], none
	for _, v := range s.nodes {
		rank = max(rank, j.wave[v])
	}
	r.ID, r.UID, r.Nodes, r.Rank = j.sourceIDs[i], s.uid, j.builtHere(i), int(rank)
	r.Pin, r.Real, r.AtPin, r.Contested = s.pin, s.real, s.atPin, s.contested
	r.NotEnrolled, r.EnrolmentFailed, r.FetchFailing = s.notEnrolled, s.enrolmentFailed, s.fetchFailing
	if s.pending() {
		r.Candidate, r.PendingSince = s.candidate, s.pendingSince()
		r.Pending, r.Admissible = true, s.admissible()
	}
	if b := j.sourceBlocker(s); b != nil || s.hold != nil {
		r.Hold, r.Blocked = s.hold, b
	}
}

// builtHere are the IDs of the nodes of a source that belong to the graph.
func (j *judge) builtHere(source int32) []ID {
	nodes := j.sources[source].nodes
	from, to := j.built.from[source], j.built.from[source+1]
	if len(nodes) == int(to-from) {
		return j.builtIDs[from:to:to]
	}
	ids := make([]ID, len(nodes))
	for i, v := range nodes {
		ids[i] = j.nodeIDs[v]
	}
	return ids
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
