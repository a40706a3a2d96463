// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// arbitraryInputs are small fleets of every sort.
func arbitraryInputs(r *rand.Rand, n int) []fleet.Input {
	inputs := make([]fleet.Input, n)
	for i := range inputs {
		data := make([]byte, r.IntN(150))
		for k := range data {
			data[k] = byte(r.UintN(256))
		}
		inputs[i] = arbitrary(data)
	}
	return inputs
}

// TestEvaluatorsRemember: what an Evaluator remembers of earlier passes never
// changes what comes out, whatever changes from one pass to the next, and what
// came out earlier stays as it was.
func TestEvaluatorsRemember(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	for _, in := range arbitraryInputs(r, 400) {
		g := NewWithT(t)
		var e fleet.Evaluator
		var came, want []fleet.Evaluation
		for range 8 {
			came, want = append(came, e.Evaluate(in)), append(want, fleet.Evaluate(in))
			in = nextPass(r, in)
		}
		g.Expect(came).To(Equal(want))
	}
}

// nextPass is an Input as a later pass may find it: in another order, and mostly
// with one change.
func nextPass(r *rand.Rand, in fleet.Input) fleet.Input {
	in.Nodes, in.Sources = slices.Clone(in.Nodes), slices.Clone(in.Sources)
	if r.IntN(2) == 0 {
		r.Shuffle(len(in.Nodes), func(a, b int) { in.Nodes[a], in.Nodes[b] = in.Nodes[b], in.Nodes[a] })
		r.Shuffle(len(in.Sources), func(a, b int) { in.Sources[a], in.Sources[b] = in.Sources[b], in.Sources[a] })
	}
	if len(in.Nodes) == 0 || len(in.Sources) == 0 {
		return in
	}
	n, other := &in.Nodes[r.IntN(len(in.Nodes))], in.Nodes[r.IntN(len(in.Nodes))]
	s := &in.Sources[r.IntN(len(in.Sources))]
	switch r.IntN(12) {
	case 0:
		n.DependsOn = append(slices.Clone(n.DependsOn), other.ID)
	case 1:
		n.DependsOn = nil
	case 2:
		n.Source = s.ID
	case 3:
		n.ID.Name += "-renamed"
	case 4:
		in.Nodes = append(in.Nodes[:0], in.Nodes[1:]...)
	case 5:
		in.Nodes = append(in.Nodes, other)
		in.Nodes[len(in.Nodes)-1].UID += "-namesake"
	case 6:
		*n = other // and so a node is gone while another is there twice
	case 7:
		n.SelectedBy = other.SelectedBy
	case 8:
		s.Managed = !s.Managed
	case 9:
		in.Sources = append(in.Sources[:0], in.Sources[1:]...)
	case 10:
		n.Ready, n.LastApplied, n.LastAttempted = other.Ready, other.LastApplied, other.LastAttempted
	default:
		in.Clock = in.Clock.Add(time.Minute)
	}
	return in
}

// TestEvaluationsDoNotMix: one evaluation leaves no trace in another, be it after
// it or at the same time, be it of a larger fleet or a smaller one.
func TestEvaluationsDoNotMix(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	inputs := arbitraryInputs(rand.New(rand.NewPCG(3, 3)), 40)
	want := make([]fleet.Evaluation, len(inputs))
	for i := range inputs {
		want[i] = fleet.Evaluate(inputs[i])
	}
	came := make([][]fleet.Evaluation, 8)
	var group sync.WaitGroup
	for w := range came {
		group.Go(func() {
			var e fleet.Evaluator
			for i := range inputs {
				came[w] = append(came[w], e.Evaluate(inputs[i]))
			}
		})
	}
	group.Wait()
	for w := range came {
		g.Expect(came[w]).To(Equal(want))
	}
}
