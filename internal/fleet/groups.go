// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"
)

// sortTopologically orders the node graph and marks what is on a cycle or
// behind one. Such nodes deadlock Flux itself and are blocked; the rest of the
// fleet goes on.
func (j *judge) sortTopologically(out *Evaluation) {
	c := connect(j.parents)
	j.topological, j.component = c.order, c.of
	for i := range int32(c.count()) {
		members := c.members(i)
		first := members[0]
		if len(members) > 1 || slices.Contains(j.parents.of(first), first) {
			for _, v := range members {
				j.nodes[v].inCycle = true
			}
			out.Cycles = append(out.Cycles, j.cyclePath(members, c.of))
			continue
		}
		for _, p := range j.parents.of(first) {
			j.nodes[first].behindCycle = j.nodes[first].behindCycle || j.nodes[p].cyclic()
		}
	}
	slices.SortFunc(out.Cycles, func(a, b []ID) int { return a[0].Compare(b[0]) })
}

// cyclic tells whether the node is on a cycle or behind one.
func (n *node) cyclic() bool { return n.inCycle || n.behindCycle }

// cyclePath is a shortest real path from the first member of a component back
// to itself.
func (j *judge) cyclePath(members []int32, component []int32) []ID {
	start := slices.Min(members)
	via := make(map[int32]int32, len(members))
	queue := []int32{start}
	for next := 0; ; next++ {
		v := queue[next]
		for _, p := range j.parents.of(v) {
			if p == start {
				return j.pathTo(v, start, via)
			}
			if _, seen := via[p]; !seen && component[p] == component[start] {
				via[p] = v
				queue = append(queue, p)
			}
		}
	}
}

// pathTo renders the path from start to v and back to start.
func (j *judge) pathTo(v, start int32, via map[int32]int32) []ID {
	path := []ID{*j.nodes[start].id}
	for ; v != start; v = via[v] {
		path = append(path, *j.nodes[v].id)
	}
	path = append(path, *j.nodes[start].id)
	slices.Reverse(path)
	return path
}

// contract finds the groups (design: groups): the nodes of each pinned source
// are one vertex, every other node is its own, and the strongly connected
// components are what can only move together.
func (j *judge) contract(out *Evaluation) {
	if j.lacks(groupRule) {
		j.group = make([]int32, len(j.nodes))
		for v := range j.group {
			j.group[v] = int32(v)
		}
		return
	}
	if !j.contracts() {
		j.group = j.component
		return
	}
	sources := int32(len(j.sources))
	c := connect(j.contracted(sources))
	j.group = make([]int32, len(j.nodes))
	for v := range j.nodes {
		j.group[v] = c.of[j.vertex(int32(v), sources)]
	}
	for i := range int32(c.count()) {
		if shared := j.sourcesOf(c.members(i), sources); len(shared) > 1 {
			out.CoAdmitted = append(out.CoAdmitted, shared)
		}
	}
	slices.SortFunc(out.CoAdmitted, func(a, b []ID) int { return a[0].Compare(b[0]) })
}

// contracts tells whether any source has several nodes, or the graph a cycle;
// otherwise the contracted graph is the node graph itself, and no two sources
// can share a group.
func (j *judge) contracts() bool {
	for i := range j.sources {
		if len(j.sources[i].nodes) > 1 {
			return true
		}
	}
	for v := range j.nodes {
		if j.nodes[v].inCycle {
			return true
		}
	}
	return false
}

// vertex is the node's place in the contracted graph.
func (j *judge) vertex(v, sources int32) int32 {
	if n := &j.nodes[v]; n.pinned {
		return n.source
	}
	return sources + v
}

// contracted is the graph of sources and gates.
func (j *judge) contracted(sources int32) edges {
	result := edges{
		from: make([]int32, 1, int(sources)+len(j.nodes)+1),
		to:   make([]int32, 0, len(j.parents.to)),
	}
	add := func(v int32) {
		for _, p := range j.parents.of(v) {
			result.to = append(result.to, j.vertex(p, sources))
		}
	}
	for s := range j.sources {
		for _, v := range j.sources[s].nodes {
			if j.nodes[v].pinned {
				add(v)
			}
		}
		result.from = append(result.from, int32(len(result.to)))
	}
	for v := range j.nodes {
		if !j.nodes[v].pinned {
			add(int32(v))
		}
		result.from = append(result.from, int32(len(result.to)))
	}
	return result
}

// sourcesOf lists the pinned sources of a group, sorted.
func (j *judge) sourcesOf(members []int32, sources int32) []ID {
	if len(members) < 2 {
		return nil
	}
	var result []ID
	for _, m := range members {
		if m < sources {
			result = append(result, j.sources[m].in.ID)
		}
	}
	slices.SortFunc(result, func(a, b ID) int { return compareIDs(&a, &b) })
	return result
}

// nearest is the closest node of some sort on a path upwards.
type nearest struct {
	// distance in edges.
	distance int32
	// node is its place; none if there is no such node.
	node int32
}

// nobody: there is no such node.
var nobody = nearest{node: none}

// found tells whether there is such a node.
func (a nearest) found() bool { return a.node != none }

// closer returns the closer of two: fewer edges, then the smaller ID.
func (a nearest) closer(b nearest) nearest {
	if !a.found() || (b.found() && cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(b.node, a.node)) < 0) {
		return b
	}
	return a
}

// oneFurther is the same node seen from a dependent.
func (a nearest) oneFurther() nearest {
	if a.found() {
		a.distance++
	}
	return a
}
