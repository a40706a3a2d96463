// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// scope says which Wavefront's pins move a source.
type scope struct {
	// own: in scope of the Wavefront that is judged.
	own bool
	// peers that have the source in scope, as indices into judge.peers.
	peers []int32
}

// scopes finds the scope of every source (design: in scope): a managed source
// that at least one selected node is built from.
func (j *judge) scopes() []scope {
	result := blank(&j.memory.scopes, len(j.in.Sources))
	j.own = make([]bool, len(j.in.Nodes))
	for i := range j.in.Nodes {
		n := &j.in.Nodes[i]
		if len(n.SelectedBy) == 0 {
			continue
		}
		j.own[i] = slices.Contains(n.SelectedBy, j.in.Self.Name)
		s := j.builtFrom[i]
		if s == none || !sequenced(&j.in.Sources[s]) {
			continue
		}
		for _, name := range n.SelectedBy {
			result[s].add(j, name)
		}
	}
	return result
}

// add notes that a node of the source is selected by the named Wavefront.
func (s *scope) add(j *judge, name string) {
	if name == j.in.Self.Name {
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
func (j *judge) keeper(s scope) int32 {
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
	for i := range j.nodes {
		if n := &j.nodes[i]; n.own && len(j.peers) > 0 {
			out.SelectorOverlaps = append(out.SelectorOverlaps, j.nodeOverlaps(n, reported)...)
		}
	}
	for i := range j.sources {
		s := &j.sources[i]
		if s.keeper != self {
			continue
		}
		shared := scopes[s.input].peers
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
			result = append(result, Overlap{Object: *n.id, Peer: j.peers[p].Name})
		}
	}
	return result
}
