// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func numbered(i int) string { return fmt.Sprintf("node-%04d", i) }

func TestStatusOfAFleet(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.wf.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": "now"}
	db := unhealthy(settledNode("db", shaA))
	web := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: node("db")})
	web.Wave, web.DependsOn, web.PendingSince = 1, []fleet.ID{node("db")}, start.Add(-time.Minute)
	h.publish(Pass{Evaluation: fleetOf(db, held(settledNode("free", shaC), fleet.Hold{Reason: fleet.HandPin, Manager: "kubectl-edit"}), web)})

	want := wavefrontv1.WavefrontStatus{
		ObservedGeneration: 3,
		Phase:              wavefrontv1.PhaseBlocked,
		Nodes:              &wavefrontv1.NodeCounts{Observed: 3, Pinned: 3, Settled: 1, Pending: 1, Unhealthy: 1, Blocked: 1, Held: 1},
		Blocked: []wavefrontv1.BlockedNode{{
			Node: referenceOf(node("web")), Since: metav1.NewTime(start), Reason: "AncestorUnhealthy", Ancestor: ancestorOf(node("db")),
		}},
		Held: []wavefrontv1.HeldNode{{Node: referenceOf(node("free")), Source: "apps/free", Manager: "kubectl-edit", Reason: "HandPin"}},
		Members: []wavefrontv1.Member{
			{
				Node: referenceOf(node("db")), Role: "Pinned", State: "Unhealthy", Source: "apps/db",
				Pin: string(shaA), ObservedSHA: string(shaA), Trouble: "HealthCheckFailed: timeout",
			}, {
				Node: referenceOf(node("free")), Role: "Pinned", State: "Settled", Source: "apps/free",
				Pin: string(shaC), ObservedSHA: string(shaC), Ready: true, Held: true,
			}, {
				Node: referenceOf(node("web")), Role: "Pinned", State: "Pending", Wave: 1, Source: "apps/web",
				DependsOn: []wavefrontv1.NodeReference{referenceOf(node("db"))},
				Pin:       string(shaA), ObservedSHA: string(shaB), PendingSince: metav1Time(start.Add(-time.Minute)), Ready: true,
				Blocked: &wavefrontv1.MemberBlock{Reason: "AncestorUnhealthy", Ancestor: ancestorOf(node("db"))},
			},
		},
		LastEvaluated: metav1Time(start),
		Conditions: []metav1.Condition{
			{
				Type: "Ready", Status: "True", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(start), Reason: "EvaluationSucceeded",
				Message: `1 of 3 nodes settled, 1 pending, 1 unhealthy, 1 blocked, 1 held; Kustomization "apps/db" is unhealthy`,
			},
			{
				Type: "GraphValid", Status: "True", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(start), Reason: "Valid",
				Message: "the dependencies can be ordered",
			},
		},
	}
	want.LastHandledReconcileAt = "now"
	h.Expect(rendered(t, &h.wf.Status)).To(Equal(rendered(t, &want)))
}

// rendered is the status as the API has it.
func rendered(t *testing.T, status *wavefrontv1.WavefrontStatus) string {
	t.Helper()
	data, err := json.MarshalIndent(status, "", " ")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func TestListsAreCappedAndCountsAreNot(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	var nodes []fleet.NodeResult
	for i := range 100 {
		reason := fleet.AncestorPending
		if i >= 90 {
			reason = fleet.AncestorMissing
		}
		n := waiting(settledNode(numbered(i), shaA), fleet.Blocker{Reason: reason, Ancestor: node("x")})
		nodes = append(nodes, held(n, fleet.Hold{Reason: fleet.Suspend}))
	}
	h.publish(Pass{Evaluation: fleetOf(nodes...)})
	status := h.wf.Status
	h.Expect(status.Nodes.Blocked).To(Equal(100))
	h.Expect(status.Nodes.Held).To(Equal(100))
	h.Expect(status.Held).To(HaveLen(wavefrontv1.MaxListed))
	h.Expect(status.Blocked).To(HaveLen(wavefrontv1.MaxListed))
	h.Expect(status.Blocked[0].Reason).To(Equal("AncestorMissing"), "what needs help comes first")
	h.Expect(status.Blocked[0].Node.Name).To(Equal(numbered(90)))
	h.Expect(status.Blocked[10].Node.Name).To(Equal(numbered(0)))
}

func TestShadowPinsOnlyInShadow(t *testing.T) {
	t.Parallel()
	pins := map[fleet.ID]fleet.Revision{repo("b"): shaB, repo("a"): shaA}
	for _, tt := range []struct {
		mode wavefrontv1.Mode
		want *wavefrontv1.ShadowStatus
	}{
		{wavefrontv1.ModeEnforce, nil},
		{wavefrontv1.ModeShadow, &wavefrontv1.ShadowStatus{Pins: []wavefrontv1.ShadowPin{
			{Source: "apps/a", Commit: string(shaA)}, {Source: "apps/b", Commit: string(shaB)},
		}}},
	} {
		h := newHarness(t, tt.mode)
		h.publish(Pass{Evaluation: fleetOf(settledNode("a", shaA)), ShadowPins: pins})
		h.Expect(h.wf.Status.Shadow).To(Equal(tt.want))
	}
}

// bigFleet is a fleet with 60-character names and 5 edges a node; every tenth
// node is pending, every hundredth unhealthy.
func bigFleet(size int) fleet.Evaluation {
	nodes := make([]fleet.NodeResult, size)
	id := func(kind string, i int) fleet.ID {
		return fleet.ID{Kind: kind, Namespace: long("ns", i), Name: long("team", i)}
	}
	for i := range nodes {
		n := settledNode("x", shaA)
		n.ID, n.Source = id(fleet.KindKustomization, i), id(fleet.KindGitRepository, i)
		for e := 1; e <= 5 && i >= e; e++ {
			n.DependsOn = append(n.DependsOn, id(fleet.KindKustomization, i-e))
		}
		switch {
		case i%100 == 0:
			n = unhealthy(n)
		case i%10 == 0:
			n = waiting(n, fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: id(fleet.KindKustomization, i/100*100)})
			n.PendingSince = start
		}
		nodes[i] = n
	}
	return fleetOf(nodes...)
}

func long(prefix string, i int) string {
	name := fmt.Sprintf("%s-%05d-", prefix, i)
	return name + strings.Repeat("x", 60-len(name))
}

func shadowPinsOf(ev *fleet.Evaluation) map[fleet.ID]fleet.Revision {
	pins := map[fleet.ID]fleet.Revision{}
	for i := range ev.Sources {
		pins[ev.Sources[i].ID] = shaB
	}
	return pins
}

func TestByteBudget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		mode wavefrontv1.Mode
		ev   func() fleet.Evaluation
	}{
		{"Enforce", wavefrontv1.ModeEnforce, func() fleet.Evaluation { return bigFleet(5000) }},
		{"Shadow with a pin a source", wavefrontv1.ModeShadow, func() fleet.Evaluation { return bigFleet(5000) }},
		{"everything in trouble, quoted at length", wavefrontv1.ModeShadow, func() fleet.Evaluation {
			ev := bigFleet(5000)
			var all []fleet.ID
			for i := range ev.Nodes {
				n := unhealthy(ev.Nodes[i])
				n.Trouble, n.ObservationError = strings.Repeat("<\"é\n", 4000), strings.Repeat("\x00", 4000)
				ev.Nodes[i] = n
				all = append(all, n.ID)
			}
			ev.Cycles, ev.CoAdmitted = [][]fleet.ID{all}, [][]fleet.ID{all[:100], all}
			return ev
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, tt.mode)
			ev := tt.ev()
			pins := shadowPinsOf(&ev)
			h.publish(Pass{Evaluation: ev, ShadowPins: pins})
			status := h.wf.Status
			data, err := json.Marshal(&status)
			h.Expect(err).NotTo(HaveOccurred())
			t.Logf("%d bytes, %d members, %d omitted", len(data), len(status.Members), status.MembersOmitted)
			h.Expect(len(data)).To(BeNumerically("<", 1<<20))
			h.Expect(len(status.Members) + status.MembersOmitted).To(Equal(5000))
			h.Expect(status.Nodes.Observed).To(Equal(5000))
			if tt.mode == wavefrontv1.ModeShadow {
				h.Expect(status.Shadow.Pins).To(HaveLen(len(pins)))
				return
			}
			h.Expect(len(data)).To(BeNumerically(">", maxStatus*9/10), "the budget is used")
			shown := map[wavefrontv1.NodeState]int{}
			for _, m := range status.Members {
				shown[m.State]++
			}
			h.Expect(shown[wavefrontv1.StateUnhealthy]).To(Equal(50), "settled members go first")
			h.Expect(shown[wavefrontv1.StatePending]).To(Equal(450), "settled members go first")
		})
	}
}

func TestStatusIsDeterministic(t *testing.T) {
	t.Parallel()
	render := func() []byte {
		h := newHarness(t, wavefrontv1.ModeShadow)
		ev := bigFleet(500)
		h.publish(Pass{Evaluation: ev, ShadowPins: shadowPinsOf(&ev)})
		data, err := json.Marshal(&h.wf.Status)
		h.Expect(err).NotTo(HaveOccurred())
		return data
	}
	g := NewWithT(t)
	first := render()
	for range 5 {
		g.Expect(render()).To(Equal(first))
	}
}

func TestTransitionTimesMoveWithTheStatusOnly(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.publish(Pass{Evaluation: fleetOf(settledNode("a", shaA))})
	h.step(time.Minute)
	h.publish(Pass{Evaluation: fleetOf(settledNode("a", shaA), settledNode("b", shaA))})
	ready := apimeta.FindStatusCondition(h.wf.Status.Conditions, "Ready")
	h.Expect(ready.Message).To(Equal("all 2 nodes are settled"))
	h.Expect(ready.LastTransitionTime.UTC()).To(Equal(start))
}

func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{500, 5000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ev := bigFleet(size)
			t := &testing.T{}
			h := newHarness(t, wavefrontv1.ModeEnforce)
			b.ReportAllocs()
			for b.Loop() {
				h.step(time.Hour)
				r := h.reporter.Publish(b.Context(), h.wf, Pass{Evaluation: ev})
				h.wf.Status = *r.Status
				h.reporter.Written(h.wf, r)
			}
		})
	}
}
