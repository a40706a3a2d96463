// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"fmt"
	"testing"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// BenchmarkJudge judges fleets whose events have all been taken in, as a pass does.
func BenchmarkJudge(b *testing.B) {
	for _, size := range []int{100, 1000, 5000} {
		tracker, clock := newTestTracker()
		sources, facts := make([]source, size), make([]fleet.Source, size)
		for i := range sources {
			s := aSource(i+1).at(commitA, ours, flux).recorded(commitA)
			s.Name = fmt.Sprintf("team-%04d", i)
			tracker.Observe(s.GitRepository)
			sources[i], facts[i] = s, s.facts()
		}
		judge := Judge{Declarative: DeclarativeManagers}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				for i, s := range sources {
					judge.Annotate(&facts[i], Facts{
						Object: s.GitRepository, Source: facts[i], Seen: tracker.Seen(s.GitRepository), Now: clock.now(),
					})
				}
			}
		})
	}
}

// BenchmarkObserve takes in one event.
func BenchmarkObserve(b *testing.B) {
	tracker, _ := newTestTracker()
	version := 0
	for b.Loop() {
		version++
		tracker.Observe(aSource(version).at(commitA, ours, flux, edit).recorded(commitA).GitRepository)
	}
}
