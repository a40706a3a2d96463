// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// topology is the shape of a fleet: which nodes and sources there are, what is
// built from what, and who depends on whom. Nodes have the numbers of their places
// in the Input that it was made of, and missing nodes follow; sources have theirs
// in the order in which the nodes name them. So the passes of an evaluation run
// through memory as they run through the Input. Beside the number stands the rank,
// which is the place in the order of the IDs. A topology does not change once it is
// made, so Evaluations may share its lists.
type topology struct {
	// nodeIDs are those of all known nodes, and of the missing ones that
	// somebody depends on; sourceIDs those of all known sources.
	nodeIDs       []ID
	sourceIDs     []ID
	nodeRanking   ranking
	sourceRanking ranking
	// nodeIndex finds the number of a node that exists, sourceIndex the place
	// at which a source was entered.
	nodeIndex   index
	sourceIndex index
	// entered are the IDs of the sources by place, sourceAt their numbers: none
	// for a loser among namesakes.
	entered  []ID
	sourceAt []int32
	// namesakes: there are several nodes or sources with one ID.
	namesakes bool

	// stated is what each existing node says of its edges.
	stated []statement
	// builtFrom is the source of each node; none where it can't be read.
	builtFrom []int32
	// built are the nodes of each source, builtIDs their IDs, as built.to.
	built    edges
	builtIDs []ID
	// parents are the edges of the node graph, from a node to what it depends
	// on; dependsOn are the IDs of these, as parents.to.
	parents   edges
	dependsOn []ID

	// components are the strongly connected components of the node graph: in
	// their order every dependency comes before its dependents, and nodes of
	// one cycle are adjacent.
	components components
	// cycles are the true ones, inCycle the nodes on them, behindCycle those
	// that depend on such nodes.
	cycles      []cycle
	inCycle     []bool
	behindCycle []bool
}

// cyclic tells whether a node is on a cycle or behind one.
func (t *topology) cyclic(v int32) bool { return t.inCycle[v] || t.behindCycle[v] }

// ranking orders numbers by their IDs. Of namesakes only one has a rank.
type ranking struct {
	// order lists the numbers in the order of their IDs.
	order []int32
	// rank is the place of each number in order; none if it has none.
	rank []int32
}

// findSource returns the number of a source; none if there is none.
func (t *topology) findSource(id *ID) int32 {
	if place := t.sourceIndex.at(id); place != none {
		return t.sourceAt[place]
	}
	return none
}

// sorted puts numbers into the order of their IDs.
func (r *ranking) sorted(numbers []int32) []int32 {
	slices.SortFunc(numbers, func(a, b int32) int { return int(r.rank[a] - r.rank[b]) })
	return numbers
}

// cycle is a true cycle: its first node, and one real path.
type cycle struct {
	first int32
	path  []ID
}

// statement is what a node says of its edges, word by word: as long as every node
// says the same, the shape is the same.
type statement struct {
	source    ID
	dependsOn []ID
}

// places tells which number each of Input.Nodes and Input.Sources has.
type places struct {
	node   []int32
	source []int32
}

// recognise tells whether the Input has this very shape, and finds the places of
// its nodes and sources.
func (t *topology) recognise(in *Input, p *places) bool {
	return !t.namesakes && len(in.Nodes) == len(t.stated) && len(in.Sources) == len(t.entered) &&
		t.recogniseSources(in, p) && t.recogniseNodes(in, p)
}

// recogniseSources looks every source up.
func (t *topology) recogniseSources(in *Input, p *places) bool {
	c := newCursor(t.entered, &t.sourceIndex)
	for i := range in.Sources {
		place := c.find(&in.Sources[i].ID)
		if place == none {
			return false
		}
		p.source[i] = t.sourceAt[place]
	}
	return true
}

// recogniseNodes looks every node up, and compares what it says.
func (t *topology) recogniseNodes(in *Input, p *places) bool {
	c := newCursor(t.nodeIDs[:len(t.stated)], &t.nodeIndex)
	for i := range in.Nodes {
		n := &in.Nodes[i]
		v := c.find(&n.ID)
		if v == none || t.stated[v].source != n.Source || !slices.Equal(t.stated[v].dependsOn, n.DependsOn) {
			return false
		}
		p.node[i] = v
	}
	return true
}

// cursor looks up what is known, each once. Lists of an informer come in much the
// same order each time, only from another start; so the next that is asked for is
// mostly the next that is known.
type cursor struct {
	known []ID
	index *index
	seen  []bool
	next  int32
}

func newCursor(known []ID, index *index) cursor {
	return cursor{known: known, index: index, seen: make([]bool, len(known))}
}

// find returns the place of an ID; none if it is not known, or was found before.
func (c *cursor) find(id *ID) int32 {
	if int(c.next) == len(c.known) {
		c.next = 0
	}
	at := c.next
	if c.known[at] != *id {
		at = c.index.at(id)
	}
	if at == none || c.seen[at] {
		return none
	}
	c.seen[at], c.next = true, at+1
	return at
}
