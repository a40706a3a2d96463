// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// gatherNodes finds the nodes of the graph (design: the graph): the selected ones,
// every other one on a source in scope, and everything reached from them over
// dependsOn; a dependency that does not exist is a missing node.
func (j *judge) gatherNodes(scopes []scope) {
	queue := make([]int32, 0, len(j.nodes))
	join := func(v int32) {
		if n := &j.nodes[v]; !n.member {
			n.member = true
			queue = append(queue, v)
		}
	}
	for v := range j.nodes {
		if n := &j.nodes[v]; n.own || (n.source != none && scopes[n.source].own) {
			join(int32(v))
		}
	}
	for next := 0; next < len(queue); next++ {
		for _, p := range j.parents.of(queue[next]) {
			join(p)
		}
	}
	j.members = len(queue)
}

// reportCycles lists the cycles of the graph.
func (j *judge) reportCycles(out *Evaluation) {
	for i := range j.cycles {
		if c := &j.cycles[i]; j.nodes[c.first].member {
			out.Cycles = append(out.Cycles, c.path)
		}
	}
}
