// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestGraphCondition(t *testing.T) {
	t.Parallel()
	var many [][]fleet.ID
	for i := range 1000 {
		many = append(many, []fleet.ID{node(numbered(i)), node(numbered(i))})
	}
	tests := []struct {
		name        string
		ev          fleet.Evaluation
		wantStatus  metav1.ConditionStatus
		wantReason  wavefrontv1.ConditionReason
		wantMessage string
	}{
		{"a sound graph", fleet.Evaluation{}, metav1.ConditionTrue, wavefrontv1.ValidReason, "the dependencies can be ordered"},
		{
			"cycles", fleet.Evaluation{Cycles: [][]fleet.ID{{node("a"), node("b"), node("a")}, {node("c"), node("c")}}},
			metav1.ConditionFalse, wavefrontv1.CyclesDetectedReason,
			"nodes depend on themselves: apps/a -> apps/b -> apps/a; apps/c -> apps/c",
		},
		{"more cycles than a message holds", fleet.Evaluation{Cycles: many}, metav1.ConditionFalse, wavefrontv1.CyclesDetectedReason, "…"},
		{
			"interleaved sources", fleet.Evaluation{CoAdmitted: [][]fleet.ID{{repo("a"), repo("b")}}},
			metav1.ConditionTrue, wavefrontv1.InterleavedSourcesReason, "sources that can only move together: apps/a, apps/b",
		},
		{
			"refused references", fleet.Evaluation{Refused: []fleet.RefusedReference{{From: node("a"), To: repo("b")}}},
			metav1.ConditionTrue, wavefrontv1.ValidReason,
			`the dependencies can be ordered; references across namespaces that are refused: Kustomization "apps/a" -> GitRepository "apps/b"`,
		},
		{
			"a contested node", fleet.Evaluation{SelectorOverlaps: []fleet.Overlap{{Object: node("a"), Peer: "other"}}},
			metav1.ConditionFalse, wavefrontv1.SelectorOverlapReason, `selected by several Wavefronts: Kustomization "apps/a" (also "other")`,
		},
		{
			"more contested nodes than are named, and a cycle", fleet.Evaluation{
				SelectorOverlaps: slices.Repeat([]fleet.Overlap{{Object: node("a"), Peer: "other"}}, 200), Cycles: [][]fleet.ID{{node("c"), node("c")}},
			},
			metav1.ConditionFalse, wavefrontv1.SelectorOverlapReason,
			`Kustomization "apps/a" (also "other") and 195 more; nodes depend on themselves: apps/c -> apps/c`,
		},
		{
			"a contested source and a cycle", fleet.Evaluation{
				SourceOverlaps: []fleet.Overlap{{Object: repo("a"), Peer: "other"}}, Cycles: [][]fleet.ID{{node("c"), node("c")}},
			},
			metav1.ConditionFalse, wavefrontv1.SourceOverlapReason,
			`in scope of several Wavefronts: GitRepository "apps/a" (also "other"); nodes depend on themselves: apps/c -> apps/c`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := graphCondition(&tt.ev)
			g.Expect(got.Status).To(Equal(tt.wantStatus))
			g.Expect(got.Reason).To(Equal(string(tt.wantReason)))
			g.Expect(got.Message).To(ContainSubstring(tt.wantMessage))
			g.Expect(len(got.Message)).To(BeNumerically("<=", maxGraphMessage))
		})
	}
}

func TestReadyMessage(t *testing.T) {
	t.Parallel()
	silent := settledNode("web", shaA)
	silent.State, silent.Blocked = fleet.Pending, &fleet.Blocker{Reason: fleet.SelfUnobserved}
	tests := []struct {
		name  string
		nodes []fleet.NodeResult
		want  string
	}{
		{"nothing", nil, "no nodes are selected"},
		{"one", []fleet.NodeResult{settledNode("a", shaA)}, "the only node is settled"},
		{"all settled", []fleet.NodeResult{settledNode("a", shaA), settledNode("b", shaA)}, "all 2 nodes are settled"},
		{"on its way", []fleet.NodeResult{settledNode("a", shaA), unseen(settledNode("b", shaA))}, "1 of 2 nodes settled, 1 converging"},
		{"silent", []fleet.NodeResult{silent}, `0 of 1 nodes settled, 1 pending, 1 blocked; the source of Kustomization "apps/web" can't be observed`},
		{
			"missing", []fleet.NodeResult{{ID: node("gone"), Role: fleet.Gate, State: fleet.Pending, Missing: true}},
			`0 of 1 nodes settled, 1 pending; Kustomization "apps/gone" does not exist`,
		},
		{
			"held", []fleet.NodeResult{held(waiting(settledNode("a", shaA), fleet.Blocker{Reason: fleet.SelfHeld}), fleet.Hold{Reason: fleet.Suspend})},
			`0 of 1 nodes settled, 1 pending, 1 blocked, 1 held; Kustomization "apps/a" is held and has a new revision`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ev := fleetOf(tt.nodes...)
			NewWithT(t).Expect(summary(&ev)).To(Equal(tt.want))
		})
	}
}

func TestSuspendedAndInvalidShowInReady(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.wf.Spec.Suspend = true
	ev := fleetOf(settledNode("a", shaA))
	ev.Cycles = [][]fleet.ID{{node("c"), node("c")}}
	h.publish(Pass{Evaluation: ev})
	ready := apimeta.FindStatusCondition(h.wf.Status.Conditions, "Ready")
	h.Expect(ready.Status).To(Equal(metav1.ConditionTrue))
	h.Expect(ready.Message).To(Equal("suspended; the only node is settled; the graph is invalid"))
}

// TestFailuresKeepTheLastPicture walks a Wavefront through every kind of
// failure; each status is checked against kstatus when it is written.
func TestFailuresKeepTheLastPicture(t *testing.T) {
	t.Parallel()
	type condition struct {
		Type   string
		Status metav1.ConditionStatus
		Reason string
	}
	tests := []struct {
		name           string
		fail           func(h *harness) Report
		wantConditions []condition
		wantObserved   int64
	}{
		{
			"an aborted pass", func(h *harness) Report {
				return h.reporter.Abort(context.Background(), h.wf, errors.New("failed to list Kustomizations: timeout"))
			},
			[]condition{
				{"Ready", "False", "EvaluationFailed"}, {"GraphValid", "True", "Valid"},
				{"Reconciling", "True", "ProgressingWithRetry"},
			}, 3,
		}, {
			"an invalid spec", func(h *harness) Report {
				return h.reporter.Invalid(context.Background(), h.wf, errors.New("spec.poll.staleAfter is too short"))
			},
			[]condition{
				{"Ready", "False", "InvalidSpec"}, {"GraphValid", "True", "Valid"},
				{"Stalled", "True", "InvalidSpec"},
			}, 4,
		}, {
			"a failed release", func(h *harness) Report {
				return h.reporter.Release(context.Background(), h.wf, nil, errors.New("failed to release 3 of 9 sources"))
			},
			[]condition{
				{"Ready", "False", "ReleaseFailed"}, {"GraphValid", "True", "Valid"},
				{"Reconciling", "True", "ProgressingWithRetry"},
			}, 3,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, wavefrontv1.ModeEnforce)
			h.publish(Pass{Evaluation: fleetOf(settledNode("a", shaA)), OldestObservation: start})
			h.Expect(h.gauges("wavefront_nodes")).NotTo(BeEmpty())
			before := h.wf.Status.DeepCopy()

			h.step(time.Hour)
			h.wf.Generation = 4
			h.write(tt.fail(h))
			var got []condition
			for _, c := range h.wf.Status.Conditions {
				got = append(got, condition{c.Type, c.Status, c.Reason})
			}
			h.Expect(got).To(Equal(tt.wantConditions))
			h.Expect(h.wf.Status.ObservedGeneration).To(Equal(tt.wantObserved))
			h.Expect(h.wf.Status.Members).To(Equal(before.Members))
			h.Expect(h.wf.Status.LastEvaluated).To(Equal(before.LastEvaluated), "nothing was evaluated")
			for _, gauge := range []string{"wavefront_nodes", "wavefront_blocked_nodes", "wavefront_held_nodes", "wavefront_observation_age_seconds", "wavefront_pinned_fetch_failures"} {
				h.Expect(h.gauges(gauge)).To(BeEmpty(), gauge)
			}

			h.step(time.Minute)
			h.publish(Pass{Evaluation: fleetOf(settledNode("a", shaA))})
			h.Expect(h.wf.Status.Conditions).To(HaveLen(2), "the failure is over")
			h.Expect(h.wf.Status.ObservedGeneration).To(Equal(int64(4)))
			h.Expect(h.gauges("wavefront_nodes")).NotTo(BeEmpty())
		})
	}
}

func TestFailureOfANewWavefront(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.write(h.reporter.Abort(context.Background(), h.wf, errors.New(strings.Repeat("long ", 1000))))
	h.Expect(h.wf.Status.ObservedGeneration).To(Equal(int64(-1)))
	h.Expect(h.wf.Status.Conditions).To(HaveLen(2))
	h.Expect(len(h.wf.Status.Conditions[0].Message)).To(BeNumerically("<=", maxReadyMessage))
}

func TestReleaseTellsAndNeedsNoWrite(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.publish(Pass{Evaluation: fleetOf(settledNode("a", shaA))})
	r := h.reporter.Release(context.Background(), h.wf, []Outcome{{Result: Kept, Source: repo("a"), From: shaA}}, nil)
	h.Expect(r.Status).To(BeNil())
	h.Expect(h.events()).To(Equal([]string{"GitRepository/a PinKept", "Wavefront/fleet PinKept"}))
	h.reporter.Forget(h.wf.Name)
	families, err := h.registry.Gather()
	h.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		h.Expect(f.GetName()).To(Equal("wavefront_events_dropped_total"), "everything about it is gone")
	}
}
