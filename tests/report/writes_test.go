// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// fleetSizeVariable makes the fleet of TestWrites larger: `make soak` does.
const fleetSizeVariable = "WAVEFRONT_SOAK_NODES"

func fleetSize(g *WithT) int {
	text := os.Getenv(fleetSizeVariable)
	if text == "" {
		return 20
	}
	size, err := strconv.Atoi(text)
	g.Expect(err).NotTo(HaveOccurred(), fleetSizeVariable)
	return size
}

// TestWrites counts every request by which the controller could have changed
// something: in ten idle poll intervals, with Flux reconciling all the while, and
// in a rollout of the whole fleet.
func TestWrites(t *testing.T) {
	t.Parallel()
	size := fleetSize(NewWithT(t))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Duration(size)*6*time.Second)
	defer cancel()
	nodes := nodeNames(size)
	for i := range nodes {
		nodes[i].Interval = max(pollInterval, time.Duration(size)*1200*time.Millisecond)
	}
	s := begin(ctx, t, "writes", nodes...)
	// A git server on the same two cores lists some tens of repositories a second.
	s.interval = max(pollInterval, time.Duration(size)*60*time.Millisecond)
	s.enforce()

	t.Run("idle", func(t *testing.T) { s.of(t).expectHeartbeats(t) })
	t.Run("rollout", func(t *testing.T) { s.of(t).expectThrottle(t) })
}

// of is the stage for a subtest, which fails by itself.
func (s *stage) of(t *testing.T) *stage {
	sub := *s
	sub.WithT = NewWithT(t)
	return &sub
}

// expectHeartbeats waits for ten heartbeats and expects no other write.
func (s *stage) expectHeartbeats(t *testing.T) {
	g := NewWithT(t)
	const heartbeats = 10
	at := s.nextHeartbeat(time.Time{})
	mark, err := s.env.AuditLog().Mark()
	g.Expect(err).NotTo(HaveOccurred())
	reconciled := s.kustomizationWrites(mark)
	began := time.Now()
	for range heartbeats {
		at = s.nextHeartbeat(at)
	}
	took := time.Since(began)

	writes := s.writes(mark)
	for _, w := range writes {
		g.Expect(w.ObjectRef.Resource+"/"+w.ObjectRef.Subresource).To(Equal("wavefronts/status"), w.RequestURI)
	}
	flux := s.kustomizationWrites(mark) - reconciled
	t.Logf("%d nodes, %.0fs: %d writes of ours, %d status writes of kustomize-controller", len(s.Nodes()), took.Seconds(), len(writes), flux)
	g.Expect(writes).To(HaveLen(heartbeats))
	g.Expect(took).To(BeNumerically("~", heartbeats*s.interval, 2*s.interval))
	g.Expect(flux).To(BeNumerically(">", len(s.Nodes())/2), "Flux reconciled all the while")
}

// nextHeartbeat waits until the heartbeat has moved on from a moment.
func (s *stage) nextHeartbeat(from time.Time) time.Time {
	wf := s.await(func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.LastEvaluated != nil && wf.Status.LastEvaluated.After(from)
	})
	return wf.Status.LastEvaluated.Time
}

// expectThrottle rolls out a commit for every node and expects status writes at
// least a second apart.
func (s *stage) expectThrottle(t *testing.T) {
	g := NewWithT(t)
	mark, err := s.env.AuditLog().Mark()
	g.Expect(err).NotTo(HaveOccurred())
	commits := map[string]string{}
	for _, node := range s.Nodes() {
		commits[node.Name] = s.push(node.Name, testfleet.Release{})
	}
	began := time.Now()
	for source, commit := range commits {
		g.Expect(s.AwaitPinned(s.ctx, source, commit)).To(Succeed())
	}
	s.awaitQuiescent()

	var last time.Time
	statuses, pins := 0, 0
	for _, w := range s.writes(mark) {
		switch w.ObjectRef.Resource {
		case "wavefronts":
			statuses++
			g.Expect(w.RequestReceived.Sub(last)).To(BeNumerically(">=", 950*time.Millisecond), w.RequestURI)
			last = w.RequestReceived
		case "gitrepositories":
			pins++
		default:
			t.Errorf("unexpected write: %s %s", w.Verb, w.RequestURI)
		}
	}
	t.Logf("%d nodes, %.0fs: %d status writes, %d pins written", len(commits), time.Since(began).Seconds(), statuses, pins)
	g.Expect(pins).To(Equal(len(commits)))
	g.Expect(statuses).To(BeNumerically(">", 1))
}

// writes returns the controller's writes to the fleet and its Wavefront since a
// mark; events aside.
func (s *stage) writes(mark int64) []env.AuditEvent {
	user := env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName)
	return s.audited(mark, func(a env.AuditEvent) bool {
		own := a.ObjectRef.Namespace == s.Namespace() ||
			(a.ObjectRef.Resource == "wavefronts" && a.ObjectRef.Name == s.wavefront.Name)
		return own && a.User.Username == user && a.ObjectRef.Resource != "events"
	})
}

// kustomizationWrites counts what kustomize-controller wrote about its nodes.
func (s *stage) kustomizationWrites(mark int64) int {
	user := env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName)
	return len(s.audited(mark, func(a env.AuditEvent) bool {
		return a.ObjectRef.Namespace == s.Namespace() && a.ObjectRef.Resource == "kustomizations" && a.User.Username != user
	}))
}

func (s *stage) audited(mark int64, keep func(env.AuditEvent) bool) []env.AuditEvent {
	events, err := s.env.AuditLog().Since(mark)
	s.Expect(err).NotTo(HaveOccurred())
	var kept []env.AuditEvent
	for _, a := range events {
		if a.Stage == "ResponseComplete" && a.IsWrite() && keep(a) {
			kept = append(kept, a)
		}
	}
	return kept
}
