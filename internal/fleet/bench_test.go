// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// shape returns the dependencies of node i of n.
type shape func(r *rand.Rand, i, n int) []int

// shapes that stress different parts of the passes: a chain is as deep, a star
// as wide as a fleet can be; layers of 100 nodes with three edges each look like
// a real one.
var shapes = map[string]shape{
	"chain": func(_ *rand.Rand, i, _ int) []int {
		if i == 0 {
			return nil
		}
		return []int{i - 1}
	},
	"star": func(_ *rand.Rand, i, _ int) []int {
		if i == 0 {
			return nil
		}
		return []int{0}
	},
	"layered": func(r *rand.Rand, i, _ int) []int {
		const width = 100
		layer := i / width
		if layer == 0 {
			return nil
		}
		var result []int
		for range 3 {
			result = append(result, (layer-1)*width+r.IntN(width))
		}
		return result
	},
}

// large builds a fleet of n nodes in which every tenth source has a candidate.
// Nodes and sources come in no particular order.
func large(s shape, n int) fleet.Input {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	epoch := time.Unix(0, 0)
	in := fleet.Input{
		Self:    fleet.Wavefront{Name: "fleet", Mode: fleet.Enforce, ReplicaLag: 2 * time.Second, StaleAfter: 10 * time.Minute},
		Now:     fleet.Instant{Seq: 1000, At: 100 * time.Second},
		Clock:   epoch,
		Nodes:   make([]fleet.Node, n),
		Sources: make([]fleet.Source, n),
	}
	names := r.Perm(n)
	node := func(i int) fleet.ID {
		return fleet.ID{Kind: fleet.KindKustomization, Namespace: "flotillas", Name: fmt.Sprintf("team-%06d", names[i])}
	}
	for i := range n {
		src := fleet.ID{Kind: fleet.KindGitRepository, Namespace: "flotillas", Name: fmt.Sprintf("team-%06d-repo", names[i])}
		commit := fleet.Revision("aaaa")
		if i%10 == 0 {
			commit = "bbbb"
		}
		in.Sources[i] = fleet.Source{
			ID: src, Managed: true, URL: "https://git.example/x", Ref: "refs/heads/main",
			Ready: fleet.Condition{Status: fleet.True}, Artifact: "aaaa", Pin: "aaaa", Ours: true,
			PinSeen: fleet.Instant{Seq: 1, At: time.Second}, Reconciled: true,
			Observed: &fleet.Observation{
				URL: "https://git.example/x", Ref: "refs/heads/main", Commit: commit,
				Started: fleet.Instant{Seq: 10, At: 10 * time.Second}, First: fleet.Instant{Seq: 5, At: 5 * time.Second},
			},
		}
		k := fleet.Node{
			ID: node(i), SelectedBy: []string{"fleet"}, Source: src, Ready: fleet.Condition{Status: fleet.True},
			LastApplied: "aaaa", LastAttempted: "aaaa", Timeout: time.Minute, Confirmed: true,
		}
		for _, p := range s(r, i, n) {
			k.DependsOn = append(k.DependsOn, node(p))
		}
		in.Nodes[i] = k
	}
	r.Shuffle(n, func(a, b int) { in.Nodes[a], in.Nodes[b] = in.Nodes[b], in.Nodes[a] })
	r.Shuffle(n, func(a, b int) { in.Sources[a], in.Sources[b] = in.Sources[b], in.Sources[a] })
	return in
}

// read returns the fleet as a pass of the controller reads it: in another order
// than the last time (that of an informer, which starts anywhere), in facts that
// were put together anew. One object in a hundred has been decoded anew since, so
// that its strings are equal but not the same.
func read(in fleet.Input, pass int) fleet.Input {
	start := len(in.Nodes) * pass % 7 / 7
	nodes, sources := slices.Concat(in.Nodes[start:], in.Nodes[:start]), slices.Concat(in.Sources[start:], in.Sources[:start])
	for i := range nodes {
		n := &nodes[i]
		n.SelectedBy, n.DependsOn = slices.Clone(n.SelectedBy), slices.Clone(n.DependsOn)
		if (i+pass)%100 == 0 {
			n.ID.Name, n.Source.Name = strings.Clone(n.ID.Name), strings.Clone(n.Source.Name)
			for k := range n.DependsOn {
				n.DependsOn[k].Name = strings.Clone(n.DependsOn[k].Name)
			}
		}
	}
	in.Nodes, in.Sources = nodes, sources
	return in
}

// BenchmarkEvaluate measures what the controller does at each pass: the whole
// evaluation of a fleet in which every tenth source has a candidate, by the
// Evaluator of its Wavefront. Each pass has an Input of its own.
func BenchmarkEvaluate(b *testing.B) {
	benchmark(b, func() func(fleet.Input) fleet.Evaluation { return new(fleet.Evaluator).Evaluate })
}

// BenchmarkEvaluateCold measures the first pass after a start, and after a change
// of the fleet's shape: nothing is known of it.
func BenchmarkEvaluateCold(b *testing.B) {
	benchmark(b, func() func(fleet.Input) fleet.Evaluation { return fleet.Evaluate })
}

func benchmark(b *testing.B, evaluator func() func(fleet.Input) fleet.Evaluation) {
	for _, name := range []string{"chain", "layered", "star"} {
		for _, n := range []int{1000, 10000, 100000} {
			b.Run(fmt.Sprintf("shape=%s/nodes=%d", name, n), func(b *testing.B) {
				in := large(shapes[name], n)
				passes := []fleet.Input{read(in, 1), read(in, 2)}
				evaluate := evaluator()
				// A controller runs for long: its heap has found its size.
				for range 3 {
					for i := range passes {
						evaluate(passes[i])
					}
				}
				next := 0
				b.ReportAllocs()
				for b.Loop() {
					evaluate(passes[next%len(passes)])
					next++
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}

// BenchmarkNaive measures the gate alone, the naive way: from each pending node
// to all of its ancestors. Beside it stands what the passes take for everything.
func BenchmarkNaive(b *testing.B) {
	for _, name := range []string{"chain", "layered", "star"} {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("shape=%s/nodes=%d", name, n), func(b *testing.B) {
				g := newWalker(large(shapes[name], n))
				b.ReportAllocs()
				for b.Loop() {
					g.walkAll()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}

// walker is a graph that is already indexed, so that walking pays for nothing
// but walking.
type walker struct {
	parents [][]int32
	pending []bool
	seen    []int32
	queue   []int32
}

func newWalker(in fleet.Input) *walker {
	place := make(map[fleet.ID]int32, len(in.Nodes))
	pending := make(map[fleet.ID]bool, len(in.Sources))
	for i := range in.Nodes {
		place[in.Nodes[i].ID] = int32(i)
	}
	for i := range in.Sources {
		pending[in.Sources[i].ID] = in.Sources[i].Observed.Commit != in.Sources[i].Pin
	}
	w := &walker{parents: make([][]int32, len(in.Nodes)), pending: make([]bool, len(in.Nodes)), seen: make([]int32, len(in.Nodes))}
	for i := range in.Nodes {
		w.pending[i] = pending[in.Nodes[i].Source]
		for _, d := range in.Nodes[i].DependsOn {
			w.parents[i] = append(w.parents[i], place[d])
		}
	}
	return w
}

// walkAll counts the pending nodes all of whose ancestors are settled.
func (w *walker) walkAll() int {
	admissible := 0
	clear(w.seen)
	for v := range w.parents {
		if w.pending[v] && w.walk(int32(v)) {
			admissible++
		}
	}
	return admissible
}

func (w *walker) walk(v int32) bool {
	mark, settled := v+1, true
	w.queue = append(w.queue[:0], v)
	for next := 0; next < len(w.queue); next++ {
		for _, p := range w.parents[w.queue[next]] {
			if w.seen[p] != mark {
				w.seen[p] = mark
				w.queue = append(w.queue, p)
				settled = settled && !w.pending[p]
			}
		}
	}
	return settled
}
