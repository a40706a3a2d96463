// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout_test shows whole rollouts on the real control plane, by the
// controller as it is shipped: its own ServiceAccount, under the generated role.
// Order is proved from what the API server stored, never by sampling.
package rollout_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "wavefront-rollout-")
	if err != nil {
		panic(err)
	}
	binaries = dir
	code := env.Main(m, env.Options{Audit: true})
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// binaries is where programs are built.
var binaries string

// program builds the controller, once for all control planes of this package.
var program = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(binaries, env.ControllerName)
	build := exec.Command("go", "build", "-o", binary, "../..")
	build.Stderr = os.Stderr
	return binary, build.Run()
})

// pollInterval is the shortest that the API takes.
const pollInterval = 5 * time.Second

// story is a fleet with a Wavefront and a running controller.
type story struct {
	*testfleet.Fleet
	env        *env.Env
	controller *env.Controller
	wavefront  *wavefrontv1.Wavefront
	timeline   *testfleet.Timeline
}

// begin starts a controller, makes a fleet of nodes, and waits until it is ready,
// before any Wavefront exists.
func begin(ctx context.Context, t *testing.T, e *env.Env, prefix string, nodes ...testfleet.Node) *story {
	t.Helper()
	g := NewWithT(t)
	fleet, err := testfleet.New(ctx, e, e.Namespace(t, prefix))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(fleet.Close)
	binary, err := program()
	g.Expect(err).NotTo(HaveOccurred())
	// Each test has a controller of its own, which reconciles its Wavefront alone.
	controller, err := e.NewController(ctx, env.ControllerOptions{
		Name: prefix, Binary: binary, Args: []string{"--watch-label-selector=" + testfleet.Label + "=" + fleet.Namespace()},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(controller.Start(ctx)).To(Succeed())
	t.Cleanup(func() { _ = controller.Stop() })
	g.Expect(fleet.Add(ctx, nodes...)).To(Succeed())
	g.Expect(fleet.AwaitReady(ctx)).To(Succeed())
	timeline, err := fleet.Record(ctx, nil)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(timeline.Close)
	return &story{Fleet: fleet, env: e, controller: controller, timeline: timeline}
}

// enforce creates the Wavefront and waits until the fleet is pinned and quiet.
func (s *story) enforce(ctx context.Context, g *WithT) {
	s.create(ctx, g, wavefrontv1.ModeEnforce)
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
}

func (s *story) create(ctx context.Context, g *WithT, mode wavefrontv1.Mode) {
	s.wavefront = s.Wavefront(mode)
	s.wavefront.Labels = map[string]string{testfleet.Label: s.Namespace()}
	s.wavefront.Spec.Poll = wavefrontv1.Poll{
		Interval:   &metav1.Duration{Duration: pollInterval},
		ReplicaLag: &metav1.Duration{Duration: 500 * time.Millisecond},
	}
	g.Expect(s.env.Client().Create(ctx, s.wavefront)).To(Succeed())
}

// awaitPhase waits until the status says so, about every node.
func (s *story) awaitPhase(ctx context.Context, g *WithT, phase wavefrontv1.Phase) *wavefrontv1.Wavefront {
	return s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.Phase == phase && wf.Status.Nodes != nil && wf.Status.Nodes.Observed == len(s.Nodes())
	})
}

func (s *story) awaitStatus(ctx context.Context, g *WithT, condition func(*wavefrontv1.Wavefront) bool) *wavefrontv1.Wavefront {
	key := s.wavefrontKey()
	wf, err := testfleet.Await(ctx, s.env.Client(), &wavefrontv1.WavefrontList{}, key, condition)
	g.ExpectWithOffset(2, err).NotTo(HaveOccurred())
	return wf
}

// push commits to every node named, in that order, and returns the commit of each
// source.
func (s *story) push(ctx context.Context, g *WithT, names ...string) map[string]string {
	commits := map[string]string{}
	for _, name := range names {
		node, ok := s.Node(name)
		g.Expect(ok).To(BeTrue(), name)
		commit, err := s.Push(ctx, name, testfleet.Release{})
		g.Expect(err).NotTo(HaveOccurred())
		commits[node.Source] = commit
	}
	return commits
}

// pushAtOnce pushes to every node named while the controller stands still. What is
// pushed leaf first is else observed leaf first, and rightly admitted so, whenever a
// poll falls between two pushes.
func (s *story) pushAtOnce(ctx context.Context, g *WithT, names ...string) map[string]string {
	g.ExpectWithOffset(1, s.controller.Pause()).To(Succeed())
	defer func() { g.ExpectWithOffset(1, s.controller.Resume()).To(Succeed()) }()
	return s.push(ctx, g, names...)
}
