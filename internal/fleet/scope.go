// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// self stands for the judged Wavefront among its peers.
const self int32 = -2

// scope says which Wavefront's pins move a source.
type scope struct {
	// own: in scope of the Wavefront that is judged.
	own bool
	// suspended: one of the nodes that the judged Wavefront selects is.
	suspended bool
	// peers that have the source in scope, as indices into judge.peers.
	peers []int32
}

// scopes finds nodes and sources in the Input, and the scope of every source
// (design: in scope): a managed source that at least one selected node is built
// from. It finds what was observed as well: observations lie anywhere in memory,
// and asking for one right after the other waits less.
func (j *judge) scopes() []scope {
	result := blank(&j.scratch.scopes, len(j.sourceIDs))
	j.sources = blank(&j.scratch.sources, len(j.sourceIDs))
	for i, v := range j.places.source {
		if v != none {
			s := &j.sources[v]
			s.in, s.sequenced = &j.in.Sources[i], sequenced(&j.in.Sources[i])
			j.count(s)
		}
	}
	j.nodes = blank(&j.scratch.nodes, len(j.nodeIDs))
	for v := range j.nodes {
		j.nodes[v].source, j.nodes[v].rank = j.builtFrom[v], j.nodeRanking.rank[v]
	}
	for i, v := range j.places.node {
		if v != none {
			j.place(&j.nodes[v], &j.in.Nodes[i], result)
		}
	}
	return result
}

// place finds out who selects a node.
func (j *judge) place(n *node, in *Node, scopes []scope) {
	n.in, n.suspended = in, in.Suspended
	var s *scope
	if n.source != none && j.sources[n.source].sequenced {
		s = &scopes[n.source]
	}
	for _, name := range in.SelectedBy {
		own := name == j.in.Self.Name
		n.own = n.own || own
		if s != nil {
			s.add(j, name, own)
			s.suspended = s.suspended || (own && n.suspended)
		}
	}
}

// add notes that a node of the source is selected by the named Wavefront.
func (s *scope) add(j *judge, name string, own bool) {
	if own {
		s.own = true
		return
	}
	if p, known := j.peerIndex[name]; known && !slices.Contains(s.peers, p) {
		s.peers = append(s.peers, p)
	}
}

// sequenced tells whether a pin can hold the source: it is managed and tracks a
// branch, or it still carries a pin of ours from when it did.
func sequenced(s *Source) bool {
	return s.Managed && (s.Ref != "" || carriesUnsupportedPin(s))
}

// keeper returns the Wavefront that pins the source, as an index into
// judge.peers; self for the judged one, none for a source that is in nobody's
// scope. Of several peers, one that contests comes first.
func (j *judge) keeper(s *scope) int32 {
	if s.own {
		return self
	}
	if len(s.peers) == 0 {
		return none
	}
	return slices.MinFunc(s.peers, func(a, b int32) int {
		if ca, cb := contests(&j.peers[a]), contests(&j.peers[b]); ca != cb {
			if ca {
				return -1
			}
			return 1
		}
		return int(a - b)
	})
}

// contests tells whether a Wavefront stands in the way of another that claims
// the same: one being deleted, suspended or in Shadow does not.
func contests(w *Wavefront) bool {
	return !w.Deleting && !w.Suspended && w.Mode == Enforce
}

// overlaps reports every selected node and source in scope that a peer claims
// too, and marks the sources that are contested. Where this Wavefront itself
// contests nothing, it reports the overlap all the same, on itself.
func (j *judge) overlaps(scopes []scope, out *Evaluation) {
	reported := func(p int32) bool { return !contests(&j.in.Self) || contests(&j.peers[p]) }
	if len(j.peers) == 0 {
		return
	}
	for _, v := range j.nodeRanking.order {
		if n := &j.nodes[v]; n.own {
			out.SelectorOverlaps = append(out.SelectorOverlaps, j.nodeOverlaps(n, reported)...)
		}
	}
	for _, i := range j.sourceRanking.order {
		s := &j.sources[i]
		if s.keeper != self {
			continue
		}
		shared := scopes[i].peers
		slices.Sort(shared)
		for _, p := range shared {
			s.contested = s.contested || contests(&j.peers[p])
			if reported(p) {
				out.SourceOverlaps = append(out.SourceOverlaps, Overlap{Object: s.in.ID, Peer: j.peers[p].Name})
			}
		}
	}
}

// nodeOverlaps are the peers that select a node of ours too.
func (j *judge) nodeOverlaps(n *node, reported func(int32) bool) []Overlap {
	var result []Overlap
	for p := range j.peers {
		if reported(int32(p)) && slices.Contains(n.in.SelectedBy, j.peers[p].Name) {
			result = append(result, Overlap{Object: n.in.ID, Peer: j.peers[p].Name})
		}
	}
	return result
}
