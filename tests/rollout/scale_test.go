// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

const (
	scaleWaves = 10
	scaleWidth = 10
)

// TestHundredNodes: ten waves of ten nodes, everything pushed at once and leaf first,
// and the controller killed on the way. No node moves before all its ancestors, and
// every wave moves.
func TestHundredNodes(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	// A control plane of its own, alone: a hundred nodes would starve the other tests.
	e := env.ForTest(t, env.Options{
		SourceControllerFlags:    []string{"--concurrent=10"},
		KustomizeControllerFlags: []string{"--concurrent=20"},
	})
	nodes := layered(rand.New(rand.NewPCG(1, 2)))
	s := begin(ctx, t, e, "hundred", nodes...)
	s.enforce(ctx, g)

	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if !n.Gate {
			names = append(names, n.Name)
		}
	}
	slices.Reverse(names)
	commits := s.pushAtOnce(ctx, g, names...)
	halfway := nodes[scaleWaves*scaleWidth/2]
	g.Expect(s.AwaitPinned(ctx, halfway.Source, commits[halfway.Source])).To(Succeed())
	g.Expect(s.controller.Kill()).To(Succeed())
	g.Expect(s.controller.Start(ctx)).To(Succeed())

	for source, commit := range commits {
		g.Expect(s.AwaitPinned(ctx, source, commit)).To(Succeed())
	}
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	g.Expect(commits).To(HaveLen(len(names)))
	g.Expect(s.timeline.CheckOrder(commits)).To(Succeed())
}

// layered is a fleet in waves: each node depends on the node before it one wave up, so
// that the chains are as long as they can be, and on two more of that wave. The second
// node of every third wave is a gate.
func layered(random *rand.Rand) []testfleet.Node {
	name := func(wave, i int) string { return fmt.Sprintf("n%d-%d", wave, i) }
	var nodes []testfleet.Node
	for wave := range scaleWaves {
		for i := range scaleWidth {
			n := testfleet.Node{Name: name(wave, i), Gate: wave%3 == 1 && i == 1}
			if wave > 0 {
				parents := []string{name(wave-1, i), name(wave-1, random.IntN(scaleWidth)), name(wave-1, random.IntN(scaleWidth))}
				slices.Sort(parents)
				n.DependsOn = slices.Compact(parents)
			}
			nodes = append(nodes, n)
		}
	}
	return nodes
}
