// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import "slices"

// cyclesIn returns one path for each cycle of the listed nodes, first node
// repeated at its end. Only nodes that the rules put outside the waves (-1) can
// be on one; the search is iterative, for a status may hold thousands.
func cyclesIn(nodes []Node) [][]Ref {
	edges := map[Ref][]Ref{}
	var order []Ref
	for _, n := range nodes {
		if n.Wave < 0 {
			edges[n.Ref] = n.DependsOn
			order = append(order, n.Ref)
		}
	}
	slices.SortFunc(order, Ref.Compare)
	s := cycleSearch{edges: edges, done: map[Ref]bool{}, onPath: map[Ref]int{}}
	for _, r := range order {
		s.from(r)
	}
	return s.cycles
}

type cycleSearch struct {
	edges  map[Ref][]Ref
	done   map[Ref]bool
	onPath map[Ref]int
	cycles [][]Ref
}

// from walks depth first from start; an edge back into the path is a cycle.
func (s *cycleSearch) from(start Ref) {
	if s.done[start] {
		return
	}
	path, next := []Ref{start}, []int{0}
	s.onPath[start] = 0
	for len(path) > 0 {
		top := len(path) - 1
		node := path[top]
		if next[top] == len(s.edges[node]) {
			s.done[node] = true
			delete(s.onPath, node)
			path, next = path[:top], next[:top]
			continue
		}
		to := s.edges[node][next[top]]
		next[top]++
		if i, ok := s.onPath[to]; ok {
			s.cycles = append(s.cycles, append(slices.Clone(path[i:]), to))
			continue
		}
		if _, known := s.edges[to]; known && !s.done[to] {
			s.onPath[to] = len(path)
			path, next = append(path, to), append(next, 0)
		}
	}
}
