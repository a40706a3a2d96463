// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
)

// maskBits is how many nodes one pass over the graph asks for.
const maskBits = 64

// wait is a release that waits for one of another node.
type wait struct {
	node  int32
	other int32
	text  string
}

// entangled finds nodes whose release waits for a release of a node behind them:
// such a node can never be ready first. Only releases that are waiting cost
// anything.
func (j *judge) entangled() {
	waits := j.waitingReleases()
	for len(waits) > 0 {
		var block []int32
		n := 0
		for n < len(waits) && (slices.Contains(block, waits[n].node) || len(block) < maskBits) {
			if !slices.Contains(block, waits[n].node) {
				block = append(block, waits[n].node)
			}
			n++
		}
		j.markEntangled(waits[:n], block)
		waits = waits[n:]
	}
}

// markEntangled carries one bit for each node of the block to everything behind
// it.
func (j *judge) markEntangled(waits []wait, block []int32) {
	bit := make(map[int32]uint64, len(block))
	for i, v := range block {
		bit[v] = 1 << i
	}
	above := make([]uint64, len(j.nodes))
	for _, v := range j.components.order {
		for _, p := range j.parents.of(v) {
			above[v] |= above[p] | bit[p]
		}
	}
	for _, w := range waits {
		if n := &j.nodes[w.node]; above[w.other]&bit[w.node] != 0 && !n.unhealthy {
			n.unhealthy, n.settled, n.trouble = true, false, w.text
		}
	}
}

// waitingReleases lists releases that wait for one that another node applied.
func (j *judge) waitingReleases() []wait {
	if j.releases == nil {
		return nil
	}
	var result []wait
	var appliedBy map[ID]ID
	for _, v := range j.nodeRanking.order {
		for _, i := range j.releasesAt(v) {
			r := &j.in.Releases[i]
			if r.Ready.Status != False || r.Ready.Reason != dependencyNotReady {
				continue
			}
			if appliedBy == nil {
				appliedBy = j.appliers()
			}
			for _, d := range r.DependsOn {
				if other, known := j.find(appliedBy[d]); known {
					result = append(result, wait{node: v, other: other, text: entanglement(r, d, j.nodeIDs[other])})
				}
			}
		}
	}
	return result
}

// appliers maps releases to the Kustomizations that applied them.
func (j *judge) appliers() map[ID]ID {
	result := make(map[ID]ID, len(j.in.Releases))
	for i := range j.in.Releases {
		result[j.in.Releases[i].ID] = j.in.Releases[i].AppliedBy
	}
	return result
}

// find returns the number of an existing node of the graph.
func (j *judge) find(id ID) (int32, bool) {
	v := j.nodeIndex.at(&id)
	return v, v != none && j.nodes[v].member
}

// entanglement is the sentence that says what can never happen.
func entanglement(r *Release, other, behind ID) string {
	return fmt.Sprintf("%s waits for %s, which belongs to %s, behind this node: it can never be ready first",
		quoted(r.ID), quoted(other), quoted(behind))
}
