// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// scratch is the larger part of the memory that an evaluation works in. It is
// used again: fresh memory costs more than most of the rules. Nothing of it is
// ever part of an Evaluation, and nothing of an Input stays in it.
type scratch struct {
	nodes   []node
	sources []source
	scopes  []scope
	down    []descent
}

// blank returns a slice of n zero values in the memory of another, which must be
// blank up to its capacity.
func blank[T any](memory *[]T, n int) []T {
	if cap(*memory) < n {
		*memory = make([]T, n)
	}
	*memory = (*memory)[:n]
	return *memory
}

// forget makes the memory blank again.
func (s *scratch) forget() {
	clear(s.nodes)
	clear(s.sources)
	clear(s.scopes)
	clear(s.down)
}
