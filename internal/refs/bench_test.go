// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"fmt"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// instant is a host that answers at once.
type instant struct{ clock *Clock }

func (i instant) ask(_ context.Context, _ *sourcev1.GitRepository, q wire.Query, _ uint64) (answer, error) {
	a := answer{started: i.clock.Now(), refs: []wire.Ref{{Name: q.Names[0], Hash: commitA}}}
	a.completed = i.clock.Now()
	return a, nil
}

// BenchmarkSchedule measures what a sweep costs besides the listings, and that it
// grows no faster than the number of sources.
func BenchmarkSchedule(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		var targets []Target
		for i := range n {
			targets = append(targets, target(fmt.Sprintf("s%05d", i), fmt.Sprintf("https://h/%05d", i), i%10))
		}
		fake := testingclock.NewFakeClock(time.Now())
		clock := NewClock(fake)
		o := newObserver(instant{clock}, clock, logr.Discard())
		o.running = b.Context()
		s := schedule()
		s.PerHostConcurrency = 4
		o.Sync("fleet", s, targets)
		o.jobs.Wait()
		b.Run(fmt.Sprintf("sweep/sources=%d", n), func(b *testing.B) {
			for b.Loop() {
				fake.Step(2 * time.Minute)
				o.wake()
				o.jobs.Wait()
			}
		})
		b.Run(fmt.Sprintf("sync/sources=%d", n), func(b *testing.B) {
			for b.Loop() {
				o.Sync("fleet", s, targets)
			}
		})
	}
}
