// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/metric"
)

func TestGaugesOfAFleet(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	web := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: node("db")})
	web.PendingSince = start.Add(-time.Minute)
	ev := fleetOf(unhealthy(settledNode("db", shaA)), held(settledNode("free", shaA), fleet.Hold{Reason: fleet.Suspend}), web)
	ev.Sources[0].FetchFailing = true
	h.publish(Pass{Evaluation: ev, OldestObservation: start.Add(-10 * time.Second), Duration: 20 * time.Millisecond})

	h.Expect(h.gauges("wavefront_nodes")).To(Equal(map[string]float64{
		"Pending": 1, "Unhealthy": 1, "Settled": 1, "Admissible": 0, "Converging": 0,
	}))
	h.Expect(h.gauges("wavefront_blocked_nodes")).To(And(HaveLen(len(allReasons)), HaveKeyWithValue("AncestorUnhealthy", 1.)))
	h.Expect(h.gauges("wavefront_held_nodes")).To(Equal(map[string]float64{"Suspend": 1, "HandPin": 0, "Declared": 0, "UnsupportedRef": 0}))
	h.Expect(h.gauges("wavefront_pinned_fetch_failures")).To(Equal(map[string]float64{"": 1}))
	h.Expect(h.gauges("wavefront_evaluation_duration_seconds")).To(Equal(map[string]float64{"": 0.02}))

	h.step(5 * time.Second)
	h.Expect(h.gauges("wavefront_observation_age_seconds")).To(Equal(map[string]float64{"": 15}), "it ages between passes")
	h.Expect(h.gauges("wavefront_node_pin_lag_seconds")).To(Equal(map[string]float64{"Kustomization,web,apps": 65}))

	h.publish(Pass{Evaluation: fleetOf(settledNode("web", shaB))})
	h.Expect(h.gauges("wavefront_node_pin_lag_seconds")).To(BeEmpty())
	h.Expect(h.gauges("wavefront_observation_age_seconds")).To(BeEmpty(), "nothing is observed")
}

func TestGaugesAreWithdrawnWhileTheGraphIsInvalid(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fleet.Evaluation){
		"cycle":            func(ev *fleet.Evaluation) { ev.Cycles = [][]fleet.ID{{node("a"), node("a")}} },
		"selector overlap": func(ev *fleet.Evaluation) { ev.SelectorOverlaps = []fleet.Overlap{{Object: node("a"), Peer: "x"}} },
		"source overlap":   func(ev *fleet.Evaluation) { ev.SourceOverlaps = []fleet.Overlap{{Object: repo("a"), Peer: "x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, wavefrontv1.ModeEnforce)
			ev := fleetOf(settledNode("a", shaA))
			h.publish(Pass{Evaluation: ev})
			h.Expect(h.gauges("wavefront_nodes")).NotTo(BeEmpty())
			spoil(&ev)
			h.publish(Pass{Evaluation: ev})
			h.Expect(h.gauges("wavefront_nodes")).To(BeEmpty())
		})
	}
}

func TestEveryMetricIsDefinedAsItIsCollected(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	web := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.SelfHeld})
	web.PendingSince = start
	h.publish(Pass{Evaluation: fleetOf(web), OldestObservation: start, Outcomes: []Outcome{
		OutcomeOf(fleet.Move{Kind: fleet.Advance, Source: repo("web"), From: shaA, To: shaB}, nil),
	}})
	families, err := h.registry.Gather()
	h.Expect(err).NotTo(HaveOccurred())
	collected := map[string]metric.Definition{}
	for _, f := range families {
		m := metric.Definition{Name: f.GetName(), Help: f.GetHelp(), Type: map[string]string{"COUNTER": "counter", "GAUGE": "gauge", "HISTOGRAM": "histogram"}[f.GetType().String()]}
		for _, l := range f.GetMetric()[0].GetLabel() {
			m.Labels = append(m.Labels, l.GetName())
		}
		collected[m.Name] = m
	}
	h.Expect(collected).To(HaveLen(len(Definitions())))
	for _, want := range Definitions() {
		want.Labels = slices.Sorted(slices.Values(want.Labels))
		h.Expect(collected).To(HaveKeyWithValue(want.Name, want))
	}
}
