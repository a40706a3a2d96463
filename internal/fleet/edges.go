// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// edges is an adjacency list packed into two slices: the successors of vertex v
// are to[from[v]:from[v+1]].
type edges struct {
	from []int32
	to   []int32
}

// of returns the successors of v.
func (e edges) of(v int32) []int32 { return e.to[e.from[v]:e.from[v+1]] }

// vertices is the number of vertices.
func (e edges) vertices() int { return len(e.from) - 1 }

// edgesFor makes room for the edges of a number of vertices.
func edgesFor(vertices, edgeCount int) edges {
	return edges{from: make([]int32, 1, vertices+1), to: make([]int32, 0, edgeCount)}
}

// end ends the edges of one vertex; what is appended next belongs to the next.
func (e *edges) end() { e.from = append(e.from, int32(len(e.to))) }

// endSorted ends the edges of one vertex and leaves each of them once, in order.
func (e *edges) endSorted() {
	own := e.to[e.from[len(e.from)-1]:]
	slices.Sort(own)
	e.to = e.to[:len(e.to)-len(own)+len(slices.Compact(own))]
	e.end()
}

// reversed turns a mapping from vertices to at most one of n others around: from
// each other to its vertices, in the given order of all of them.
func reversed(to, order []int32, n int) edges {
	e := edges{from: make([]int32, n+1)}
	for _, v := range order {
		if to[v] != none {
			e.from[to[v]+1]++
		}
	}
	for i := range n {
		e.from[i+1] += e.from[i]
	}
	e.to = make([]int32, e.from[n])
	next := slices.Clone(e.from)
	for _, v := range order {
		if other := to[v]; other != none {
			e.to[next[other]] = v
			next[other]++
		}
	}
	return e
}
