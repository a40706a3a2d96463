// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestOnlyLastingReasonsAreTold(t *testing.T) {
	t.Parallel()
	unobserved := settledNode("db", shaA)
	unobserved.State, unobserved.Blocked = fleet.Pending, &fleet.Blocker{Reason: fleet.SelfUnobserved}
	tests := []struct {
		name     string
		blocker  fleet.Blocker
		ancestor fleet.NodeResult
		want     int
	}{
		{"an unhealthy ancestor", fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: node("db")}, unhealthy(settledNode("db", shaA)), 1},
		{"a held ancestor", fleet.Blocker{Reason: fleet.AncestorHeld, Ancestor: node("db")}, held(settledNode("db", shaA), fleet.Hold{Reason: fleet.Suspend}), 1},
		{"a missing ancestor", fleet.Blocker{Reason: fleet.AncestorMissing, Ancestor: node("db")}, fleet.NodeResult{ID: node("db"), Role: fleet.Gate, State: fleet.Pending, Missing: true}, 1},
		{"its own hold", fleet.Blocker{Reason: fleet.SelfHeld}, settledNode("db", shaA), 1},
		{"its own silence", fleet.Blocker{Reason: fleet.SelfUnobserved}, settledNode("db", shaA), 1},
		{"an ancestor that can't be observed", fleet.Blocker{Reason: fleet.AncestorUnobserved, Ancestor: node("db")}, unobserved, 1},
		{"an ancestor to be listed again", fleet.Blocker{Reason: fleet.AncestorUnobserved, Ancestor: node("db")}, settledNode("db", shaA), 0},
		{"an ancestor on its way", fleet.Blocker{Reason: fleet.AncestorPending, Ancestor: node("db")}, settledNode("db", shaA), 0},
		{"a sibling", fleet.Blocker{Reason: fleet.SharedSourceBlocked, Ancestor: node("db")}, settledNode("db", shaA), 0},
		{"a suspended Wavefront", fleet.Blocker{Reason: fleet.Suspended}, settledNode("db", shaA), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, wavefrontv1.ModeEnforce)
			ev := fleetOf(tt.ancestor, waiting(settledNode("web", shaA), tt.blocker))
			h.publish(Pass{Evaluation: ev})
			h.step(dwell)
			h.publish(Pass{Evaluation: ev})
			h.Expect(h.events("Kustomization/web")).To(HaveLen(tt.want))
		})
	}
}

func TestBlockedNodeIsToldAtItsEdges(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := func(after time.Duration, n fleet.NodeResult) []string {
		h.step(after)
		h.publish(Pass{Evaluation: fleetOf(unhealthy(settledNode("db", shaA)), n)})
		return h.events("Kustomization/")
	}
	blocked := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: node("db")})
	queued := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorPending, Ancestor: node("db")})
	told, untold := []string{"Kustomization/web Blocked"}, []string{"Kustomization/web Unblocked"}

	h.Expect(pass(0, blocked)).To(BeEmpty(), "it may pass")
	h.Expect(pass(dwell, blocked)).To(Equal(told))
	h.Expect(pass(time.Hour, blocked)).To(BeEmpty())
	h.Expect(pass(time.Second, queued)).To(BeEmpty(), "it still waits")
	h.Expect(pass(time.Minute, blocked)).To(BeEmpty(), "nothing new")
	h.Expect(pass(time.Second, settledNode("web", shaB))).To(Equal(untold), "admitted: told at once")
	h.Expect(pass(time.Second, settledNode("web", shaB))).To(BeEmpty())

	again := blocked
	again.Pin, again.Candidate, again.Observed = shaB, shaC, shaC
	h.Expect(pass(time.Second, again)).To(BeEmpty())
	h.Expect(pass(dwell, again)).To(Equal(told), "a second block is a second change")
	h.Expect(pass(time.Second, settledNode("web", shaB))).To(BeEmpty(), "not admitted: it may come back")
	h.Expect(pass(dwell, settledNode("web", shaB))).To(Equal(untold))
}

func TestBlockedEventNamesTheTrouble(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	ev := fleetOf(unhealthy(settledNode("db", shaA)),
		waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: node("db")}))
	h.publish(Pass{Evaluation: ev})
	h.step(dwell)
	h.publish(Pass{Evaluation: ev})
	h.Expect(h.inbox.events).To(HaveLen(1))
	e := h.inbox.events[0]
	h.Expect(e.Note).To(Equal(`wavefront/fleet: is blocked: its ancestor Kustomization "apps/db" is unhealthy`))
	annotations := e.Annotations()
	h.Expect(annotations).To(HaveKey("kustomize.toolkit.fluxcd.io/token"))
	delete(annotations, "kustomize.toolkit.fluxcd.io/token")
	h.Expect(annotations).To(Equal(map[string]string{
		"kustomize.toolkit.fluxcd.io/revision":  "sha1:" + string(shaB),
		"kustomize.toolkit.fluxcd.io/blockedBy": "AncestorUnhealthy",
		"kustomize.toolkit.fluxcd.io/ancestor":  "Kustomization/apps/db",
		"kustomize.toolkit.fluxcd.io/trouble":   "HealthCheckFailed: timeout",
		"kustomize.toolkit.fluxcd.io/wavefront": "fleet",
	}))
}

func TestRestartNeitherRepeatsBlocksNorResetsAges(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	blocked := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: node("db")})
	blocked.PendingSince = start
	pass := func(n fleet.NodeResult) {
		h.publish(Pass{Evaluation: fleetOf(unhealthy(settledNode("db", shaA)), n)})
		h.step(time.Minute)
	}
	pass(blocked)
	pass(blocked)
	h.Expect(h.events("Kustomization/")).To(Equal([]string{"Kustomization/web Blocked"}))

	h.restart()
	pass(unseen(settledNode("web", shaA)))
	pass(unseen(settledNode("web", shaA)))
	blocked.PendingSince = h.clock.Now()
	pass(blocked)
	h.Expect(h.events()).To(BeEmpty())
	h.Expect(h.wf.Status.Blocked).To(HaveLen(1))
	h.Expect(h.wf.Status.Blocked[0].Since.UTC()).To(Equal(start))
	h.Expect(h.wf.Status.Members[1].PendingSince.UTC()).To(Equal(start))

	h.restart()
	pass(unseen(settledNode("web", shaA)))
	pass(settledNode("web", shaA))
	h.Expect(h.events()).To(BeEmpty())
	pass(settledNode("web", shaA))
	h.Expect(h.events()).To(Equal([]string{"Kustomization/web Unblocked"}), "once it is observed, it is told")
}

func TestStuckIsToldOncePerPin(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := func(after time.Duration, pin fleet.Revision) ([]string, Report) {
		h.step(after)
		n := settledNode("web", pin)
		n.State = fleet.Converging
		r := h.publish(Pass{Evaluation: fleetOf(n)})
		return h.events(), r
	}
	events, r := pass(0, shaA)
	h.Expect(events).To(BeEmpty())
	h.Expect(r.Requeue).To(BeNumerically("<=", 90*time.Second))
	events, r = pass(119*time.Second, shaA)
	h.Expect(events).To(BeEmpty())
	h.Expect(r.Requeue).To(Equal(time.Second), "the pass comes back when the node turns stuck")
	events, _ = pass(time.Second, shaA)
	h.Expect(events).To(Equal([]string{"Kustomization/web Stuck"}))
	events, _ = pass(time.Hour, shaA)
	h.Expect(events).To(BeEmpty())
	events, _ = pass(time.Second, shaB)
	h.Expect(events).To(BeEmpty())
	events, _ = pass(2*time.Minute, shaB)
	h.Expect(events).To(Equal([]string{"Kustomization/web Stuck"}))
}

func TestNodesOfOtherWavefrontsAreTheirs(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	n := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.SelfHeld})
	n.Foreign = "other"
	for range 3 {
		h.publish(Pass{Evaluation: fleetOf(n)})
		h.step(time.Minute)
	}
	h.Expect(h.events("Kustomization/")).To(BeEmpty())
}
