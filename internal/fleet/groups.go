// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

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
		j.group = j.components.of
		return
	}
	sources := int32(len(j.sources))
	c := connect(j.contracted(sources))
	j.group = make([]int32, len(j.nodes))
	for v := range j.nodes {
		j.group[v] = c.of[j.contractedVertex(int32(v), sources)]
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
	return len(j.cycles) > 0
}

// contractedVertex is the node's place in the contracted graph.
func (j *judge) contractedVertex(v, sources int32) int32 {
	if n := &j.nodes[v]; n.pinned {
		return n.source
	}
	return sources + v
}

// contracted is the graph of sources and gates.
func (j *judge) contracted(sources int32) edges {
	result := edgesFor(int(sources)+len(j.nodes), len(j.parents.to))
	add := func(v int32) {
		for _, p := range j.parents.of(v) {
			result.to = append(result.to, j.contractedVertex(p, sources))
		}
	}
	for s := range j.sources {
		for _, v := range j.sources[s].nodes {
			if j.nodes[v].pinned {
				add(v)
			}
		}
		result.end()
	}
	for v := range j.nodes {
		if !j.nodes[v].pinned {
			add(int32(v))
		}
		result.end()
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
			result = append(result, j.sourceIDs[m])
		}
	}
	slices.SortFunc(result, func(a, b ID) int { return compareIDs(&a, &b) })
	return result
}
