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

// TestIdleFleetWritesItsHeartbeat passes every second for ten intervals.
func TestIdleFleetWritesItsHeartbeat(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := Pass{Evaluation: fleetOf(settledNode("a", shaA))}
	h.publish(pass)
	h.writes = 0
	interval := h.wf.Spec.Poll.GetInterval()
	for range int(10 * interval / time.Second) {
		h.step(time.Second)
		before := h.wf.Status.DeepCopy()
		if r := h.publish(pass); r.Status != nil {
			h.Expect(h.wf.Status.LastEvaluated.Sub(before.LastEvaluated.Time)).To(Equal(interval))
			before.LastEvaluated = h.wf.Status.LastEvaluated
			h.Expect(h.wf.Status).To(Equal(*before), "nothing but the heartbeat moves")
		}
	}
	h.Expect(h.writes).To(Equal(10))
}

// TestRequeueAloneKeepsTheHeart beats with no other reason for a pass than what
// the Reporter asked for.
func TestRequeueAloneKeepsTheHeart(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := Pass{Evaluation: fleetOf(settledNode("a", shaA))}
	r := h.publish(pass)
	h.writes = 0
	passes := 0
	for end := start.Add(10 * h.wf.Spec.Poll.GetInterval()); h.clock.Now().Before(end); passes++ {
		h.Expect(r.Requeue).To(BeNumerically(">", 0))
		h.step(r.Requeue)
		r = h.publish(pass)
	}
	h.Expect(h.writes).To(Equal(10))
	h.Expect(passes).To(BeNumerically("<=", 20))
}

// TestMovingFleetWritesOnceASecond passes ten times a second while something
// changes at every pass.
func TestMovingFleetWritesOnceASecond(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	revisions := []fleet.Revision{shaA, shaB}
	for i := range 601 {
		h.publish(Pass{Evaluation: fleetOf(settledNode("a", revisions[i%2]))})
		h.step(100 * time.Millisecond)
	}
	h.Expect(h.writes).To(BeNumerically("<=", 61))
	h.Expect(h.writes).To(BeNumerically(">=", 50))
}

func TestLastChangeIsNotLost(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.publish(Pass{Evaluation: fleetOf(settledNode("a", shaA))})
	h.step(300 * time.Millisecond)
	changed := Pass{Evaluation: fleetOf(settledNode("a", shaB))}
	r := h.publish(changed)
	h.Expect(r.Status).To(BeNil())
	h.Expect(r.Requeue).To(BeNumerically("~", 700*time.Millisecond, 10*time.Millisecond))
	h.step(r.Requeue)
	h.publish(changed)
	h.Expect(h.wf.Status.Members[0].Pin).To(Equal(string(shaB)))
}

func TestLargeStatusIsWrittenMoreSlowly(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	ev := bigFleet(5000)
	h.publish(Pass{Evaluation: ev})
	h.writes = 0
	for i := range 120 {
		ev.Nodes[0].Pin = fleet.Revision(numbered(i))
		h.step(500 * time.Millisecond)
		h.publish(Pass{Evaluation: ev})
	}
	h.Expect(h.writes).To(BeNumerically("~", 6, 1), "1 MiB once in nine seconds")
}

func TestRestartDoesNotRewrite(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := Pass{Evaluation: fleetOf(settledNode("a", shaA))}
	h.publish(pass)
	h.restart()
	h.step(10 * time.Second)
	r := h.publish(pass)
	h.Expect(r.Status).To(BeNil())
	h.Expect(r.Requeue).To(Equal(80*time.Second), "the heartbeat goes on where it was")
}

// TestClockThatWentBack: a heartbeat from the future does not stop the heart until then.
func TestClockThatWentBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := Pass{Evaluation: fleetOf(settledNode("a", shaA))}
	h.publish(pass)
	h.restart()
	h.step(-time.Hour)
	r := h.publish(pass)
	h.Expect(h.wf.Status.LastEvaluated.Time).To(BeTemporally("==", h.clock.Now()))
	h.Expect(r.Requeue).To(Equal(h.wf.Spec.Poll.GetInterval()))
	h.step(r.Requeue)
	h.publish(pass)
	h.Expect(h.wf.Status.LastEvaluated.Time).To(BeTemporally("==", h.clock.Now()))
}

func TestWriteThatFailedIsRepeated(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := Pass{Evaluation: fleetOf(settledNode("a", shaA))}
	r := h.reporter.Publish(t.Context(), h.wf, pass)
	h.Expect(r.Status).NotTo(BeNil())
	// Not written: the next pass offers it again.
	h.step(time.Millisecond)
	h.Expect(h.publish(pass).Status).NotTo(BeNil())
}

func TestNamesakeIsAnotherWavefront(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	n := held(settledNode("a", shaA), fleet.Hold{Reason: fleet.Suspend})
	h.publish(Pass{Evaluation: fleetOf(n)})
	h.Expect(h.events()).To(HaveLen(2))
	h.wf.UID, h.wf.Status = "uid-2", wavefrontv1.WavefrontStatus{}
	h.publish(Pass{Evaluation: fleetOf(n)})
	h.Expect(h.events()).To(HaveLen(2))
	h.Expect(h.wf.Status.Nodes.Held).To(Equal(1))
}

// TestWordsOfOthersCostNoWrite: kustomize-controller says at every attempt after
// how many milliseconds it failed.
func TestWordsOfOthersCostNoWrite(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := func(trouble string) Report {
		n := unhealthy(settledNode("a", shaA))
		n.Trouble = trouble
		return h.publish(Pass{Evaluation: fleetOf(n)})
	}
	pass("health check failed after 20ms")
	h.step(10 * time.Second)
	h.Expect(pass("health check failed after 21ms").Status).To(BeNil())
	h.step(80 * time.Second)
	h.Expect(pass("health check failed after 22ms").Status).NotTo(BeNil(), "the heartbeat brings it up to date")
	h.Expect(h.wf.Status.Members[0].Trouble).To(Equal("health check failed after 22ms"))
	h.step(10 * time.Second)
	h.Expect(pass("").Status).NotTo(BeNil(), "that there is a trouble counts")
}
