// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestKilled: the controller is killed at a random moment of each of several
// rollouts; the next one finishes it, in order, from what is live.
func TestKilled(t *testing.T) {
	t.Parallel()
	const rollouts = 4
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	s := begin(ctx, t, env.Shared(t), "killed",
		testfleet.Node{Name: "db"},
		testfleet.Node{Name: "api", DependsOn: []string{"db"}},
		testfleet.Node{Name: "web", DependsOn: []string{"api"}},
		testfleet.Node{Name: "cache"},
		testfleet.Node{Name: "worker", DependsOn: []string{"cache", "api"}},
	)
	s.enforce(ctx, g)

	for range rollouts {
		before := len(s.timeline.Entries())
		commits := s.pushAtOnce(ctx, g, "web", "worker", "api", "cache", "db")
		// A rollout of five sources makes at least twenty writes.
		moment := before + 1 + rand.IntN(20)
		t.Logf("killing the controller after %d writes", moment-before)
		g.Eventually(func() int { return len(s.timeline.Entries()) }).WithContext(ctx).
			WithTimeout(30 * time.Second).WithPolling(5 * time.Millisecond).Should(BeNumerically(">=", moment))
		g.Expect(s.controller.Kill()).To(Succeed())
		g.Expect(s.controller.Start(ctx)).To(Succeed())

		for source, commit := range commits {
			g.Expect(s.AwaitPinned(ctx, source, commit)).To(Succeed())
		}
		s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
		g.Expect(s.timeline.CheckOrder(commits)).To(Succeed())
	}
}
