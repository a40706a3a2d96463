// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// findCycles orders the node graph and marks what is on a cycle or behind one.
// Such nodes deadlock Flux itself and are blocked; the rest of the fleet goes on.
func (t *topology) findCycles() {
	t.components = connect(t.parents)
	t.inCycle, t.behindCycle = make([]bool, len(t.nodeIDs)), make([]bool, len(t.nodeIDs))
	for i := range int32(t.components.count()) {
		members := t.components.members(i)
		first := members[0]
		if len(members) > 1 || slices.Contains(t.parents.of(first), first) {
			for _, v := range members {
				t.inCycle[v] = true
			}
			t.cycles = append(t.cycles, t.cycleOf(members))
			continue
		}
		for _, p := range t.parents.of(first) {
			t.behindCycle[first] = t.behindCycle[first] || t.inCycle[p] || t.behindCycle[p]
		}
	}
	slices.SortFunc(t.cycles, func(a, b cycle) int { return int(t.nodeRanking.rank[a.first] - t.nodeRanking.rank[b.first]) })
}

// cycleOf finds a shortest real path from the first member of a component back
// to itself.
func (t *topology) cycleOf(members []int32) cycle {
	start := slices.MinFunc(members, func(a, b int32) int { return int(t.nodeRanking.rank[a] - t.nodeRanking.rank[b]) })
	via := make(map[int32]int32, len(members))
	queue := []int32{start}
	for next := 0; ; next++ {
		v := queue[next]
		for _, p := range t.parents.of(v) {
			if p == start {
				return cycle{first: start, path: t.pathTo(v, start, via)}
			}
			if _, seen := via[p]; !seen && t.components.of[p] == t.components.of[start] {
				via[p] = v
				queue = append(queue, p)
			}
		}
	}
}

// pathTo renders the path from start to v and back to start.
func (t *topology) pathTo(v, start int32, via map[int32]int32) []ID {
	path := []ID{t.nodeIDs[start]}
	for ; v != start; v = via[v] {
		path = append(path, t.nodeIDs[v])
	}
	path = append(path, t.nodeIDs[start])
	slices.Reverse(path)
	return path
}
