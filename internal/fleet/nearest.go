// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// nearest is the closest node of some sort on a path upwards: its distance in
// edges and, below that, its rank. So the smaller of two is the one with fewer
// edges, and of two at one distance the one with the smaller ID.
type nearest uint64

const (
	// nobody: there is no such node.
	nobody nearest = 1<<64 - 1
	// edge is the distance of one edge.
	edge nearest = 1 << 32
)

// at is a node itself, by its rank.
func at(rank int32) nearest { return nearest(rank) }

// found tells whether there is such a node.
func (a nearest) found() bool { return a != nobody }

// rank is its place in the order of the IDs.
func (a nearest) rank() int32 { return int32(a & (edge - 1)) }

// closer returns the closer of two.
func (a nearest) closer(b nearest) nearest { return min(a, b) }

// oneFurther is the same node seen from a dependent.
func (a nearest) oneFurther() nearest {
	if a == nobody {
		return nobody
	}
	return a + edge
}

// oldest is the node whose source's latest observation started the earliest; a
// source without one comes before all others.
type oldest struct {
	seq  uint64
	rank int32 // none if no source is observed
}

// older returns the one that started earlier; of two in one moment, the smaller
// ID.
func (a oldest) older(b oldest) oldest {
	if a.rank == none || (b.rank != none && (b.seq < a.seq || (b.seq == a.seq && b.rank < a.rank))) {
		return b
	}
	return a
}
