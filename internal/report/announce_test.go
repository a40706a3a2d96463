// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestOutcomesAreToldOnSourceAndWavefront(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		outcome  Outcome
		want     wavefrontv1.EventReason
		wantType string
		wantNote string
		result   string
	}{
		{
			name:    "an admission",
			outcome: OutcomeOf(fleet.Move{Kind: fleet.Advance, Source: repo("db"), From: shaA, To: shaB}, nil),
			want:    wavefrontv1.PinAdvancedReason, wantType: corev1.EventTypeNormal,
			wantNote: "advanced the pin from aaaaaaaaaaaa to bbbbbbbbbbbb", result: "advanced",
		}, {
			name:    "an initial pin",
			outcome: OutcomeOf(fleet.Move{Kind: fleet.Initial, Source: repo("db"), To: shaB}, nil),
			want:    wavefrontv1.InitialPinReason, wantType: corev1.EventTypeNormal,
			wantNote: "pinned the commit at bbbbbbbbbbbb", result: "initial",
		}, {
			name:    "an initial pin beside a record that could not be used",
			outcome: OutcomeOf(fleet.Move{Kind: fleet.Initial, Source: repo("db"), To: shaB, VoidRecord: true}, nil),
			want:    wavefrontv1.InitialPinReason, wantType: corev1.EventTypeWarning,
			wantNote: "pinned the commit at bbbbbbbbbbbb; the pin recorded before could not be used", result: "initial",
		}, {
			name:    "a pin put back",
			outcome: OutcomeOf(fleet.Move{Kind: fleet.Restore, Source: repo("db"), To: shaB}, nil),
			want:    wavefrontv1.PinRestoredReason, wantType: corev1.EventTypeWarning,
			wantNote: "restored the pin at bbbbbbbbbbbb, it had vanished", result: "restored",
		}, {
			name:    "a failure",
			outcome: OutcomeOf(fleet.Move{Kind: fleet.Advance, Source: repo("db"), From: shaA, To: shaB}, errors.New("denied")),
			want:    wavefrontv1.PinFailedReason, wantType: corev1.EventTypeWarning,
			wantNote: "failed to write the pin at bbbbbbbbbbbb", result: "failed",
		}, {
			name:    "a release that failed",
			outcome: Outcome{Result: Failed, Source: repo("db"), From: shaA, Err: errors.New("denied")},
			want:    wavefrontv1.PinFailedReason, wantType: corev1.EventTypeWarning,
			wantNote: "failed to release the pin at aaaaaaaaaaaa", result: "failed",
		}, {
			name:    "a release that keeps the pin",
			outcome: Outcome{Result: Kept, Source: repo("db"), From: shaA},
			want:    wavefrontv1.PinKeptReason, wantType: corev1.EventTypeNormal,
			wantNote: "let go of the pin and kept it at aaaaaaaaaaaa; to make the source follow its reference again: " +
				`kubectl -n apps patch gitrepository db --type=merge --field-manager=wfctl -p '{"spec":{"ref":{"commit":null}}}'`,
		}, {
			name:    "a release that drops the pin",
			outcome: Outcome{Result: Released, Source: repo("db"), From: shaA},
			want:    wavefrontv1.PinReleasedReason, wantType: corev1.EventTypeNormal,
			wantNote: "released the pin at aaaaaaaaaaaa, the source follows its reference again",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, wavefrontv1.ModeEnforce)
			h.publish(Pass{Evaluation: fleetOf(settledNode("db", shaA)), Outcomes: []Outcome{tt.outcome}})

			h.Expect(h.inbox.events).To(HaveLen(2))
			source, wavefront := h.inbox.events[0], h.inbox.events[1]
			h.Expect(source.Reason).To(Equal(tt.want))
			h.Expect(source.Type).To(Equal(tt.wantType))
			h.Expect(source.Note).To(Equal("wavefront/fleet: " + tt.wantNote))
			h.Expect(source.Action).NotTo(BeEmpty())
			h.Expect(source.Regarding).To(Equal(corev1.ObjectReference{
				APIVersion: "source.toolkit.fluxcd.io/v1", Kind: "GitRepository", Namespace: "apps", Name: "db", UID: "uid-of-db",
			}))
			h.Expect(source.Related).To(Equal(wavefront.Regarding))
			h.Expect(wavefront.Regarding).To(Equal(corev1.ObjectReference{
				APIVersion: "wavefront.as-code.io/v1alpha1", Kind: "Wavefront", Name: "fleet", UID: "uid-1", ResourceVersion: "1",
			}))
			h.Expect(wavefront.Related).To(Equal(source.Regarding))
			h.Expect(wavefront.Note).To(ContainSubstring(`of GitRepository "apps/db"`))
			h.Expect(source.token()).NotTo(BeEmpty())
			if tt.result != "" {
				h.Expect(h.gauges("wavefront_admissions_total")).To(Equal(map[string]float64{tt.result: 1}))
			}
		})
	}
}

func TestConflictIsCountedAndNotTold(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.publish(Pass{Evaluation: fleetOf(settledNode("db", shaA)), Outcomes: []Outcome{{Result: Conflicted, Source: repo("db"), To: shaB}}})
	h.Expect(h.events()).To(BeEmpty())
	h.Expect(h.gauges("wavefront_admissions_total")).To(Equal(map[string]float64{"held": 1}))
}

func TestFailureIsToldOncePerRevision(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := func(to fleet.Revision, err error) []string {
		h.publish(Pass{
			Evaluation: fleetOf(admissible(settledNode("db", shaA), to)),
			Outcomes:   []Outcome{OutcomeOf(fleet.Move{Kind: fleet.Advance, Source: repo("db"), From: shaA, To: to}, err)},
		})
		return h.events("GitRepository/")
	}
	denied := errors.New("denied")
	h.Expect(pass(shaB, denied)).To(Equal([]string{"GitRepository/db PinFailed"}))
	h.Expect(pass(shaB, denied)).To(BeEmpty())
	h.Expect(pass(shaC, denied)).To(Equal([]string{"GitRepository/db PinFailed"}))
	h.Expect(pass(shaC, nil)).To(Equal([]string{"GitRepository/db PinAdvanced"}))
	h.Expect(pass(shaC, denied)).To(Equal([]string{"GitRepository/db PinFailed"}))
	h.Expect(h.gauges("wavefront_admissions_total")).To(Equal(map[string]float64{"failed": 4, "advanced": 1}))
}

func TestAdmissionWaitCountsFromFirstSight(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pending := waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorPending, Ancestor: node("db")})
	pending.PendingSince = start
	h.publish(Pass{Evaluation: fleetOf(pending)})
	h.step(90 * time.Second)
	moving := admissible(settledNode("web", shaA), shaB)
	moving.PendingSince = start
	h.publish(Pass{Evaluation: fleetOf(moving), Outcomes: []Outcome{
		OutcomeOf(fleet.Move{Kind: fleet.Advance, Source: repo("web"), From: shaA, To: shaB}, nil),
	}})
	h.Expect(h.gauges("wavefront_admission_wait_seconds")).To(Equal(map[string]float64{"Enforce": 90}))
}

func TestAdmissionWaitThatIsNotKnownIsLeftOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	h.publish(Pass{Evaluation: fleetOf(waiting(settledNode("web", shaA), fleet.Blocker{Reason: fleet.AncestorPending, Ancestor: node("db")}))})
	// That process admitted the revision and did not live to tell when.
	h.restart()
	h.publish(Pass{Evaluation: fleetOf(settledNode("web", shaB)), Outcomes: []Outcome{
		OutcomeOf(fleet.Move{Kind: fleet.Advance, Source: repo("web"), From: shaA, To: shaB}, nil),
	}})
	h.Expect(h.gauges("wavefront_admissions_total")).To(Equal(map[string]float64{"advanced": 1}))
	h.Expect(h.gauges("wavefront_admission_wait_seconds")).To(BeEmpty())
}

func TestShadowAdmissionIsToldOncePerCandidate(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeShadow)
	pass := func(to fleet.Revision) []string {
		ev := fleetOf(admissible(settledNode("db", shaA), to))
		ev.Moves = []fleet.Move{
			{Kind: fleet.Advance, Source: repo("db"), From: shaA, To: to},
			{Kind: fleet.Initial, Source: repo("new"), To: to},
		}
		h.publish(Pass{Evaluation: ev})
		h.step(time.Minute)
		return h.events()
	}
	both := []string{"GitRepository/db ShadowAdmission", "Wavefront/fleet ShadowAdmission"}
	h.Expect(pass(shaB)).To(Equal(both))
	h.Expect(pass(shaB)).To(BeEmpty())
	h.restart()
	h.publish(Pass{Evaluation: fleetOf(unseen(settledNode("db", shaA)))})
	h.Expect(pass(shaB)).To(BeEmpty(), "a restart must not announce the candidate again")
	h.Expect(pass(shaC)).To(Equal(both))
	h.Expect(pass(shaB)).To(Equal(both), "a candidate that comes back is a new one")
	h.publish(Pass{Evaluation: fleetOf(settledNode("other", shaA))})
	h.Expect(h.reporter.recall(h.wf).shadow).To(BeEmpty(), "what is gone is forgotten")
}

func TestHoldsAreToldAtTheirEdges(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := func(hold fleet.Hold) []string {
		n := settledNode("db", shaA)
		if hold != (fleet.Hold{}) {
			n = held(n, hold)
		}
		h.publish(Pass{Evaluation: fleetOf(n)})
		h.step(time.Minute)
		return h.events()
	}
	detected := []string{"GitRepository/db HoldDetected", "Wavefront/fleet HoldDetected"}
	released := []string{"GitRepository/db HoldReleased", "Wavefront/fleet HoldReleased"}
	hand := fleet.Hold{Reason: fleet.HandPin, Manager: "kubectl-edit"}

	h.Expect(pass(fleet.Hold{})).To(BeEmpty())
	h.Expect(pass(hand)).To(Equal(detected))
	h.Expect(pass(hand)).To(BeEmpty())
	h.Expect(pass(fleet.Hold{Reason: fleet.HandPin, Manager: "other"})).To(Equal(detected), "another manager is another hold")
	h.Expect(pass(fleet.Hold{Reason: fleet.Declared, Manager: "other"})).To(BeEmpty(), "the same claim, better known")
	h.Expect(pass(fleet.Hold{Reason: fleet.Suspend})).To(Equal(detected))
	h.restart()
	h.Expect(pass(fleet.Hold{Reason: fleet.Suspend})).To(BeEmpty(), "a restart must not announce it again")
	h.Expect(pass(fleet.Hold{})).To(Equal(released))
	h.Expect(pass(fleet.Hold{})).To(BeEmpty())
}

func TestHoldsBeyondTheListAreReadBackToo(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	var nodes []fleet.NodeResult
	for i := range 2 * wavefrontv1.MaxListed {
		nodes = append(nodes, held(settledNode(numbered(i), shaA), fleet.Hold{Reason: fleet.HandPin, Manager: "kubectl-edit"}))
	}
	h.publish(Pass{Evaluation: fleetOf(nodes...)})
	h.Expect(h.events("GitRepository/")).To(HaveLen(len(nodes)))
	h.Expect(h.wf.Status.Held).To(HaveLen(wavefrontv1.MaxListed))
	h.Expect(h.wf.Status.Nodes.Held).To(Equal(len(nodes)))
	h.restart()
	h.publish(Pass{Evaluation: fleetOf(nodes...)})
	h.Expect(h.events()).To(BeEmpty())
}

func TestEnrolmentUnsupportedAndInterleaved(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := func(failed bool, unsupported []fleet.ID, groups [][]fleet.ID) []string {
		ev := fleetOf(settledNode("db", shaA), fleet.NodeResult{ID: node("gate"), Role: fleet.Gate, State: fleet.Settled, Source: repo("tagged")})
		ev.Sources[0].EnrolmentFailed = failed
		ev.Unsupported, ev.CoAdmitted = unsupported, groups
		h.publish(Pass{Evaluation: ev})
		h.step(time.Minute)
		return h.events()
	}
	tagged, group := []fleet.ID{repo("tagged")}, [][]fleet.ID{{repo("a"), repo("b")}}
	h.Expect(pass(false, nil, nil)).To(BeEmpty())
	h.Expect(pass(true, tagged, group)).To(Equal([]string{
		"GitRepository/db EnrolmentFailed", "Wavefront/fleet EnrolmentFailed",
		"GitRepository/tagged UnsupportedRefStyle", "Wavefront/fleet UnsupportedRefStyle",
		"Wavefront/fleet InterleavedSources",
	}))
	h.Expect(pass(true, tagged, group)).To(BeEmpty())
	h.Expect(h.wf.Status.CoAdmitted).To(Equal([][]string{{"apps/a", "apps/b"}}))
	h.restart()
	h.Expect(pass(false, tagged, group)).To(BeEmpty(), "a restart must not announce them again")
	h.Expect(pass(true, nil, nil)).To(Equal([]string{"GitRepository/db EnrolmentFailed", "Wavefront/fleet EnrolmentFailed"}))
	h.Expect(pass(true, tagged, group)).To(HaveLen(3), "what was cured and came back is new")
}

// TestEnrolmentSaysWhatIsMissing: a source that was never fetched has no pin that could be
// late.
func TestEnrolmentSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for pin, note := range map[fleet.Revision]string{
		shaA: "the initial pin at aaaaaaaaaaaa was not reconciled within the source's timeout: see its Ready condition, or raise spec.timeout",
		"":   "no commit could be fetched yet, so there is none to pin: see its Ready condition",
	} {
		h := newHarness(t, wavefrontv1.ModeEnforce)
		ev := fleetOf(settledNode("db", shaA))
		ev.Sources[0].EnrolmentFailed, ev.Sources[0].Pin = true, pin
		h.publish(Pass{Evaluation: ev})
		h.Expect(h.inbox.events).To(ContainElement(And(HaveField("Regarding.Kind", "GitRepository"), HaveField("Note", HaveSuffix(note)))))
	}
}

func TestInvalidGraphIsToldOncePerFault(t *testing.T) {
	t.Parallel()
	h := newHarness(t, wavefrontv1.ModeEnforce)
	pass := func(cycles ...[]fleet.ID) []string {
		ev := fleetOf(settledNode("db", shaA))
		ev.Cycles = cycles
		h.publish(Pass{Evaluation: ev})
		h.step(time.Minute)
		return h.events()
	}
	one := []fleet.ID{node("a"), node("b"), node("a")}
	two := []fleet.ID{node("c"), node("c")}
	h.Expect(pass(one)).To(Equal([]string{"Wavefront/fleet GraphInvalid"}))
	h.Expect(pass(one)).To(BeEmpty())
	h.restart()
	h.Expect(pass(one)).To(BeEmpty(), "a restart must not announce it again")
	h.Expect(pass(one, two)).To(Equal([]string{"Wavefront/fleet GraphInvalid"}))
	h.Expect(pass()).To(BeEmpty())
	h.Expect(pass(one)).To(Equal([]string{"Wavefront/fleet GraphInvalid"}))
}
