// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestEvaluationsDoNotMix: one evaluation leaves no trace in another, be it after
// it or at the same time, be it of a larger fleet or a smaller one.
func TestEvaluationsDoNotMix(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := rand.New(rand.NewPCG(3, 3))
	inputs := make([]fleet.Input, 40)
	want := make([]fleet.Evaluation, len(inputs))
	for i := range inputs {
		data := make([]byte, r.IntN(150))
		for k := range data {
			data[k] = byte(r.UintN(256))
		}
		inputs[i] = arbitrary(data)
		want[i] = fleet.Evaluate(inputs[i])
	}
	wrong := make(chan int, 8*len(inputs))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range inputs {
				if !reflect.DeepEqual(fleet.Evaluate(inputs[i]), want[i]) {
					wrong <- i
				}
			}
		})
	}
	group.Wait()
	g.Expect(wrong).To(BeEmpty())
}
