// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins_test

import (
	"flag"
	"testing"

	"github.com/isometry/wavefront-controller/internal/fleet/sim"
	"github.com/isometry/wavefront-controller/internal/fleet/sim/pins"
	"github.com/isometry/wavefront-controller/internal/pin"
)

var (
	simRuns = flag.Int("sim.runs", 500, "how many schedules to simulate")
	simSeed = flag.Uint64("sim.seed", 1, "the first seed")
)

// stories in which pins are what happens.
var stories = [][]sim.ActionKind{
	nil,
	{sim.EditPin, sim.EditPin, sim.ToolPin, sim.Release},
	{sim.EditPin, sim.EditDuringCrash, sim.Crash},
	{sim.DeclarePin, sim.DeclarePin, sim.EditPin, sim.Release},
	{sim.DropPin, sim.EditPin, sim.FlipMode, sim.SuspendWavefront},
}

// TestRealPins plays schedules with the judgement that the controller uses.
func TestRealPins(t *testing.T) {
	t.Parallel()
	for i := range *simRuns {
		seed := *simSeed + uint64(i)
		plan := sim.NewPlan(seed, stories[i%len(stories)]...)
		options := sim.Options{Ownership: pins.New(pin.DeclarativeManagers)}
		if v := sim.Run(plan, options); v != nil {
			t.Fatalf("seed %d: %s", seed, sim.Report(plan, options))
		}
	}
}

// TestWrongPins shows that a wrong judgement is noticed: a hand that is taken for
// an applier of Git is not held.
func TestWrongPins(t *testing.T) {
	t.Parallel()
	const most = 300
	options := sim.Options{Ownership: pins.New(append([]string{"kubectl-edit"}, pin.DeclarativeManagers...))}
	for seed := range uint64(most) {
		if v := sim.Run(sim.NewPlan(seed, sim.EditPin), options); v != nil {
			t.Logf("noticed by (%s) at schedule %d: %s", v.Invariant, seed+1, v.Text)
			return
		}
	}
	t.Fatalf("survived %d schedules", most)
}
