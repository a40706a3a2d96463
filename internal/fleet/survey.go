// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

const (
	// none stands for "no number".
	none int32 = -1
	// unnumbered stands for the number of a source that no node has named yet.
	unnumbered int32 = 1<<31 - 1
)

// surveyor makes a topology of an Input.
type surveyor struct {
	*topology
	in *Input
	// absent finds the numbers of missing nodes.
	absent map[ID]int32
}

// survey finds the shape of an Input and the places of its nodes and sources.
// Where two have one ID, which a cluster does not have, the one with the greater
// UID counts.
func survey(in *Input, p *places) *topology {
	s := surveyor{topology: &topology{}, in: in, absent: map[ID]int32{}}
	s.enterSources()
	s.enterNodes()
	s.enterEdges()
	s.rankSources()
	s.linkSources()
	s.findCycles()
	p.node, p.source = make([]int32, len(in.Nodes)), slices.Clone(s.sourceAt)
	for v := range p.node {
		if p.node[v] = int32(v); s.nodeRanking.rank[v] == none {
			p.node[v] = none
		}
	}
	return s.topology
}

// enterSources makes all sources known. A loser among namesakes gets no number.
func (s *surveyor) enterSources() {
	n := len(s.in.Sources)
	s.sourceIndex = newIndex(n)
	s.entered, s.sourceAt, s.sourceIDs = make([]ID, n), make([]int32, n), make([]ID, 0, n)
	for i := range s.in.Sources {
		source := &s.in.Sources[i]
		s.entered[i], s.sourceAt[i] = source.ID, unnumbered
		other, slot := s.sourceIndex.enter(&source.ID)
		switch {
		case other == none:
		case s.in.Sources[other].UID < source.UID:
			s.sourceAt[other], slot.place, s.namesakes = none, int32(i)+1, true
		default:
			s.sourceAt[i], s.namesakes = none, true
		}
	}
}

// numberSource gives the source at a place the next number, unless it has one.
func (s *surveyor) numberSource(place int32) int32 {
	if s.sourceAt[place] == unnumbered {
		s.sourceAt[place] = int32(len(s.sourceIDs))
		s.sourceIDs = append(s.sourceIDs, s.entered[place])
	}
	return s.sourceAt[place]
}

// rankSources numbers the sources that no node names, and ranks all of them.
func (s *surveyor) rankSources() {
	rank := slices.Clone(s.sourceAt)
	order := s.sourceIndex.order(rank)
	s.sourceRanking.order = order
	for r, place := range order {
		order[r] = s.numberSource(place)
	}
	s.sourceRanking.rank = make([]int32, len(order))
	for r, v := range order {
		s.sourceRanking.rank[v] = int32(r)
	}
}

// enterNodes makes all nodes known. A loser among namesakes gets no rank.
func (s *surveyor) enterNodes() {
	n := len(s.in.Nodes)
	s.nodeIndex = newIndex(n)
	s.nodeIDs, s.nodeRanking.rank = make([]ID, n), make([]int32, n)
	s.stated, s.builtFrom = make([]statement, n), make([]int32, n)
	for i := range s.in.Nodes {
		n := &s.in.Nodes[i]
		s.nodeIDs[i], s.builtFrom[i] = n.ID, none
		if place := s.sourceIndex.at(&n.Source); place != none {
			s.builtFrom[i] = s.numberSource(place)
		}
		other, slot := s.nodeIndex.enter(&n.ID)
		switch {
		case other == none:
			continue
		case s.in.Nodes[other].UID < n.UID:
			s.nodeRanking.rank[other], slot.place, s.namesakes = none, int32(i)+1, true
		default:
			s.nodeRanking.rank[i], s.namesakes = none, true
		}
	}
}

// enterEdges finds what every node depends on, and ranks the nodes.
func (s *surveyor) enterEdges() {
	count := 0
	for i := range s.in.Nodes {
		count += len(s.in.Nodes[i].DependsOn)
	}
	found, stated := edgesFor(len(s.in.Nodes), count), make([]ID, 0, count)
	for i := range s.in.Nodes {
		n := &s.in.Nodes[i]
		start := len(stated)
		stated = append(stated, n.DependsOn...)
		s.stated[i] = statement{source: n.Source, dependsOn: stated[start:len(stated):len(stated)]}
		if s.nodeRanking.rank[i] == none {
			s.builtFrom[i] = none
		} else {
			for k := range n.DependsOn {
				found.to = append(found.to, s.number(&n.DependsOn[k]))
			}
		}
		found.end()
	}
	s.nodeRanking.order = s.nodeIndex.order(s.nodeRanking.rank)
	s.linkNodes(found)
}

// number returns the number of a dependency; one that does not exist is a missing
// node.
func (s *surveyor) number(id *ID) int32 {
	if v := s.nodeIndex.at(id); v != none {
		return v
	}
	v, known := s.absent[*id]
	if !known {
		v = int32(len(s.nodeIDs))
		s.absent[*id] = v
		s.nodeIDs, s.builtFrom = append(s.nodeIDs, *id), append(s.builtFrom, none)
		s.nodeRanking.rank = append(s.nodeRanking.rank, 0)
		s.nodeIndex.turnTo(id)
		s.nodeIndex.add(id.Name)
	}
	return v
}

// linkNodes renders the edges between nodes, each once and in the order of IDs.
func (s *surveyor) linkNodes(found edges) {
	s.parents = edgesFor(len(s.nodeIDs), len(found.to))
	for v := range int32(len(s.nodeIDs)) {
		if int(v) < len(s.in.Nodes) {
			for _, p := range found.of(v) {
				s.parents.to = append(s.parents.to, s.nodeRanking.rank[p])
			}
		}
		s.parents.endSorted()
	}
	s.dependsOn = make([]ID, len(s.parents.to))
	for i, rank := range s.parents.to {
		p := s.nodeRanking.order[rank]
		s.parents.to[i], s.dependsOn[i] = p, s.nodeIDs[p]
	}
}

// linkSources lists the nodes of every source, in the order of their IDs.
func (s *surveyor) linkSources() {
	s.built = reversed(s.builtFrom, s.nodeRanking.order, len(s.sourceIDs))
	s.builtIDs = make([]ID, len(s.built.to))
	for i, v := range s.built.to {
		s.builtIDs[i] = s.nodeIDs[v]
	}
}
