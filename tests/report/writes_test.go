// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

const (
	// fleetSizeVariable makes the fleet of TestWrites larger: `make soak` does.
	fleetSizeVariable = "WAVEFRONT_SOAK_NODES"
	// defaultFleetSize is what every run of the tests can afford.
	defaultFleetSize = 20
	// idleIntervals is how long a fleet is watched that has nothing to do.
	idleIntervals = 10
)

func fleetSize(g *WithT) int {
	text := cmp.Or(os.Getenv(fleetSizeVariable), strconv.Itoa(defaultFleetSize))
	size, err := strconv.Atoi(text)
	g.Expect(err).NotTo(HaveOccurred(), fleetSizeVariable)
	return size
}

// TestWrites counts, in the API server's audit log, every request by which the
// controller could have changed something: in ten idle poll intervals, with Flux
// reconciling all the while, and in a rollout of the whole fleet. Each node has a
// repository of its own.
func TestWrites(t *testing.T) {
	t.Parallel()
	size := fleetSize(NewWithT(t))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Duration(size)*3*time.Second)
	defer cancel()
	s := prepare(ctx, t, env.Shared(t).Namespace(t, "writes"), env.ControllerOptions{})
	if size > defaultFleetSize {
		defer s.narrate(t, size)()
	}
	// A git server on the same two cores lists some tens of repositories a second.
	s.interval = max(pollInterval, time.Duration(size)*60*time.Millisecond)
	nodes := nodeNames(size)
	for i := range nodes {
		// Flux reconciles each of them within the idle intervals.
		nodes[i].Interval = idleIntervals * s.interval * 8 / 10
		nodes[i].SourceInterval = nodes[i].Interval
	}
	s.populate(nodes...)
	s.enforce()
	// What there was to tell of the initial pins is told: on each source, and on the
	// Wavefront.
	s.Eventually(func() int { return len(s.apiEvents()) }, "60s", "1s").Should(Equal(2 * size))

	t.Run("idle", func(t *testing.T) { s.of(t).expectHeartbeats(t) })
	t.Run("rollout", func(t *testing.T) { s.of(t).expectThrottle(t) })
}

// of is the stage for a subtest, which fails by itself.
func (s *stage) of(t *testing.T) *stage {
	sub := *s
	sub.WithT = NewWithT(t)
	return &sub
}

// expectHeartbeats waits for ten heartbeats and expects no other write, of anything.
func (s *stage) expectHeartbeats(t *testing.T) {
	at := s.nextHeartbeat(s.nextHeartbeat(time.Time{}))
	mark, err := s.env.AuditLog().Mark()
	s.Expect(err).NotTo(HaveOccurred())
	began := time.Now()
	for range idleIntervals {
		at = s.nextHeartbeat(at)
	}
	ended := time.Now()

	// What was requested since; the log has it when it is answered, which the last
	// heartbeat may not be yet.
	var writes []env.AuditEvent
	s.Eventually(func() []env.AuditEvent {
		writes = slices.DeleteFunc(s.writes(mark), func(a env.AuditEvent) bool {
			return a.RequestReceived.Before(began) || a.RequestReceived.After(ended)
		})
		return writes
	}, "10s", "200ms").ShouldNot(HaveLen(idleIntervals - 1))
	for _, w := range writes {
		s.Expect(w.ObjectRef.Resource+"/"+w.ObjectRef.Subresource).To(Equal("wavefronts/status"), "%s %s", w.Verb, w.RequestURI)
	}
	reconciled := s.reconciled(mark)
	t.Logf("idle: %d nodes, %d poll intervals of %s (%.0fs): %d writes, each of them a heartbeat; kustomize-controller reconciled %d nodes in %d writes",
		len(s.Nodes()), idleIntervals, s.interval, ended.Sub(began).Seconds(), len(writes), len(reconciled), sum(reconciled))
	s.Expect(writes).To(HaveLen(idleIntervals))
	s.Expect(ended.Sub(began)).To(BeNumerically("~", idleIntervals*s.interval, s.interval))
	s.Expect(reconciled).To(HaveLen(len(s.Nodes())), "Flux reconciled every node meanwhile")
}

// nextHeartbeat waits until the heartbeat has moved on from a moment.
func (s *stage) nextHeartbeat(from time.Time) time.Time {
	wf := s.await(func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.LastEvaluated != nil && wf.Status.LastEvaluated.After(from)
	})
	return wf.Status.LastEvaluated.Time
}

// expectThrottle rolls out a commit for every node and expects status writes at
// least a second apart, and one write of each source.
func (s *stage) expectThrottle(t *testing.T) {
	mark, err := s.env.AuditLog().Mark()
	s.Expect(err).NotTo(HaveOccurred())
	began := time.Now()
	commits := map[string]string{}
	for _, node := range s.Nodes() {
		commits[node.Name] = s.push(node.Name, testfleet.Release{})
	}
	for source, commit := range commits {
		s.Expect(s.AwaitPinned(s.ctx, source, commit)).To(Succeed())
	}
	s.awaitQuiescent()
	took := time.Since(began)

	var last time.Time
	statuses, pins, events, closest := 0, 0, 0, took
	for _, w := range s.writes(mark) {
		switch w.ObjectRef.Resource + "/" + w.ObjectRef.Subresource {
		case "wavefronts/status":
			statuses++
			if !last.IsZero() {
				closest = min(closest, w.RequestReceived.Sub(last))
			}
			last = w.RequestReceived
		case "gitrepositories/":
			pins++
		case "events/":
			events++
		default:
			t.Errorf("unexpected write: %s %s", w.Verb, w.RequestURI)
		}
	}
	t.Logf("rollout: %d nodes, %.0fs: %d status writes, at least %.3fs apart; %d pins written, %d events",
		len(commits), took.Seconds(), statuses, closest.Seconds(), pins, events)
	s.Expect(pins).To(Equal(len(commits)))
	s.Expect(statuses).To(BeNumerically(">", 1))
	s.Expect(closest).To(BeNumerically(">=", time.Second))
}

// writes returns the controller's writes to the fleet, its Wavefront, and the events
// about them, since a mark and in the order in which they were requested.
func (s *stage) writes(mark int64) []env.AuditEvent {
	user := env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName)
	return s.audited(mark, func(a env.AuditEvent) bool {
		ref := a.ObjectRef
		// An event about the Wavefront is named after it.
		own := ref.Namespace == s.Namespace() || (ref.Resource == "wavefronts" && ref.Name == s.wavefront.Name) ||
			(ref.Resource == "events" && strings.HasPrefix(ref.Name, s.wavefront.Name+"."))
		return own && a.User.Username == user
	})
}

// reconciled counts what kustomize-controller wrote about each node.
func (s *stage) reconciled(mark int64) map[string]int {
	writes := map[string]int{}
	for _, a := range s.audited(mark, func(a env.AuditEvent) bool {
		return a.ObjectRef.Namespace == s.Namespace() && a.ObjectRef.Resource == "kustomizations" && a.User.Username == "kustomize-controller"
	}) {
		writes[a.ObjectRef.Name]++
	}
	return writes
}

func sum(counts map[string]int) (total int) {
	for _, count := range counts {
		total += count
	}
	return total
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
	slices.SortStableFunc(kept, func(a, b env.AuditEvent) int { return a.RequestReceived.Compare(b.RequestReceived) })
	return kept
}

// narrate says every so often how far the fleet has come, until the returned function
// is called.
func (s *stage) narrate(t *testing.T, size int) (end func()) {
	began := time.Now()
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	ticker := time.NewTicker(15 * time.Second)
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				t.Logf("%4.0fs %s", time.Since(began).Seconds(), s.progress(ctx, size))
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		cancel()
		<-done
	}
}

// progress is what Flux says of the fleet, and then what the Wavefront does.
func (s *stage) progress(ctx context.Context, size int) string {
	wf := &wavefrontv1.Wavefront{}
	wf.Name = s.Namespace()
	if err := s.env.Client().Get(ctx, client.ObjectKeyFromObject(wf), wf); err == nil {
		return summary(wf)
	}
	list := &kustomizev1.KustomizationList{}
	if err := s.env.Client().List(ctx, list, client.InNamespace(s.Namespace())); err != nil {
		return err.Error()
	}
	ready := 0
	for i := range list.Items {
		if testfleet.IsReady(&list.Items[i]) {
			ready++
		}
	}
	return fmt.Sprintf("%d of %d nodes are ready", ready, size)
}
