// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"flag"
	"testing"

	"github.com/isometry/wavefront-controller/internal/fleet/sim"
)

var (
	simRuns = flag.Int("sim.runs", 3000, "how many schedules to simulate (a tenth with -short)")
	simSeed = flag.Uint64("sim.seed", 1, "the first seed")
)

// TestSimulation plays random schedules and holds every step against the
// invariants. A violation prints the smallest history that shows it.
func TestSimulation(t *testing.T) {
	t.Parallel()
	runs := *simRuns
	if testing.Short() {
		runs /= 10
	}
	for i := range runs {
		seed := *simSeed + uint64(i)
		plan := sim.NewPlan(seed)
		if v := sim.Run(plan, sim.Options{}); v != nil {
			t.Fatalf("seed %d: %s", seed, sim.Report(plan, sim.Options{}))
		}
	}
}
