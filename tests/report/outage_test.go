// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// advanced is what an Alert hears of a rollout of db and web.
var advanced = []string{"GitRepository/db PinAdvanced", "GitRepository/web PinAdvanced"}

// TestDeadReceiverCostsNothing: admissions go on while notification-controller
// leaves requests unanswered, the API server has the events, and the receiver gets
// them when it is back.
func TestDeadReceiverCostsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s := begin(ctx, t, "dead", testfleet.Node{Name: "db"}, testfleet.Node{Name: "web", DependsOn: []string{"db"}})
	seen := 0
	s.enforce()
	s.told(&seen, "GitRepository/db InitialPin", "GitRepository/web InitialPin")

	s.receiver.Hang()
	s.rollOut(3)
	s.Expect(s.receiver.Delivered()).To(HaveLen(seen))
	s.Eventually(s.apiEvents, "30s", "200ms").Should(HaveLen(2 * (2 + 6)))

	s.receiver.Heal()
	s.told(&seen, slices.Repeat(advanced, 3)...)
}

// TestSilentAPIServerCostsNothing: admissions go on, in order, while the API server
// leaves events unanswered. Alerts hear of them in time, what was given up is counted,
// and what was not arrives when the API server answers again.
func TestSilentAPIServerCostsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	e := env.Shared(t)
	api := newGateway(t, e)
	s := beginIn(ctx, t, e.Namespace(t, "silent"), env.ControllerOptions{Env: []string{"KUBECONFIG=" + api.kubeconfig(ctx, t, e)}},
		testfleet.Node{Name: "db"}, testfleet.Node{Name: "web", DependsOn: []string{"db"}})
	seen := 0
	s.enforce()
	s.told(&seen, "GitRepository/db InitialPin", "GitRepository/web InitialPin")
	s.Eventually(s.apiEvents, "30s", "200ms").Should(HaveLen(2 * 2))

	api.hang()
	s.rollOut(3)
	s.told(&seen, slices.Repeat(advanced, 3)...)
	s.Expect(api.held()).To(BeNumerically(">", 0))
	s.Expect(s.apiEvents()).To(HaveLen(2 * 2))
	s.Eventually(s.dropped, "60s", "200ms").Should(BeNumerically(">", 0))

	api.heal()
	s.Eventually(func() int { return len(s.apiEvents()) + s.dropped() }, "60s", "200ms").Should(Equal(2 * (2 + 6)))
	arrived := len(s.apiEvents())
	s.rollOut(1)
	s.told(&seen, advanced...)
	s.Eventually(s.apiEvents, "30s", "200ms").Should(HaveLen(arrived + 2*2))
}

// rollOut pushes to web and db, so many times, and expects that each reaches the
// cluster, db first, as soon as it would if nobody had to be told.
func (s *stage) rollOut(times int) {
	timeline, err := s.Record(s.ctx, nil)
	s.Expect(err).NotTo(HaveOccurred())
	defer timeline.Close()
	for range times {
		commits := map[string]string{"web": s.push("web", testfleet.Release{}), "db": s.push("db", testfleet.Release{})}
		began := time.Now()
		for node, commit := range commits {
			_, err := timeline.Await(s.ctx, testfleet.Applied(node, commit))
			s.ExpectWithOffset(1, err).NotTo(HaveOccurred())
		}
		s.ExpectWithOffset(1, time.Since(began)).To(BeNumerically("<", 6*pollInterval), "one event alone takes five seconds to fail")
		s.ExpectWithOffset(1, timeline.CheckOrder(commits)).To(Succeed())
	}
}

// dropped is how many events the controller says nobody will get.
func (s *stage) dropped() int {
	return int(s.scrape()["wavefront_events_dropped_total"].GetMetric()[0].GetCounter().GetValue())
}
