// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestIdle: while nothing is pushed, the controller writes its heartbeat, once in
// a poll interval, and nothing else, although Flux reconciles all the while and
// turns Ready to Unknown and back each time. Counted from the audit log.
func TestIdle(t *testing.T) {
	t.Parallel()
	const (
		intervals = 5
		heartbeat = "patch wavefronts/status"
	)
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	e := env.ForTest(t, env.Options{Audit: true})
	nodes := []testfleet.Node{{Name: "db"}, {Name: "api", DependsOn: []string{"db"}}, {Name: "web", DependsOn: []string{"api"}}}
	for i := range nodes {
		nodes[i].Interval, nodes[i].SourceInterval = 2*time.Second, 3*time.Second
	}
	s := begin(ctx, t, e, "idle", nodes...)
	s.enforce(ctx, g)

	// From heartbeat to heartbeat, so that the window holds whole intervals.
	first := s.nextHeartbeat(ctx, g, nil)
	mark, err := e.AuditLog().Mark()
	g.Expect(err).NotTo(HaveOccurred())
	last := first
	for range intervals {
		last = s.nextHeartbeat(ctx, g, last)
	}
	ended := time.Now()

	// The log has a request when it is answered, which the last heartbeat may not be yet.
	var writes map[string]int
	flux := 0
	g.Eventually(func(g Gomega) {
		events, err := e.AuditLog().Since(mark)
		g.Expect(err).NotTo(HaveOccurred())
		writes, flux = map[string]int{}, 0
		for _, event := range events {
			if !event.IsWrite() || event.RequestReceived.After(ended) {
				continue
			}
			switch event.User.Username {
			case env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName):
				writes[event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource]++
			case "kustomize-controller":
				flux++
			}
		}
		g.Expect(writes[heartbeat]).To(BeNumerically(">=", intervals))
	}).WithContext(ctx).WithTimeout(30 * time.Second).WithPolling(200 * time.Millisecond).Should(Succeed())
	g.Expect(writes).To(Equal(map[string]int{heartbeat: intervals}))
	g.Expect(flux).To(BeNumerically(">", 3*intervals), "Flux should have been busy")
	took := last.Sub(*first)
	g.Expect(took).To(BeNumerically("~", intervals*pollInterval, pollInterval), "a heartbeat is one poll interval")
}

// nextHeartbeat waits until lastEvaluated is another one.
func (s *story) nextHeartbeat(ctx context.Context, g *WithT, after *time.Time) *time.Time {
	wf := s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		at := wf.Status.LastEvaluated
		return at != nil && (after == nil || at.After(*after)) && wf.Status.Phase == wavefrontv1.PhaseQuiescent
	})
	return &wf.Status.LastEvaluated.Time
}
