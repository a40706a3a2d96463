// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestHandPinOutlivesTheStrip(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	w.clock.at = time.Minute
	w.edit(g, edit, editCommit(quoted(commitB)))

	r := w.react(g)
	g.Expect(r.Err).NotTo(HaveOccurred())
	g.Expect(r.Outcome).To(Equal(Written))
	g.Expect(r.Action).To(Equal(ActionShare))
	g.Expect(r.Manager).To(Equal(edit))
	g.Expect(r.Changed()).To(BeFalse(), "sharing admits nothing")
	s := w.read(g)
	g.Expect(owners(s)).To(Equal([]string{ours, edit}))
	g.Expect(s.Annotations).To(And(
		HaveKeyWithValue(wavefrontv1.HeldByAnnotation, "kubectl-edit since 2026-03-04T05:07:07Z"),
		HaveKeyWithValue(wavefrontv1.PinnedCommitAnnotation, commitB),
		HaveKeyWithValue(wavefrontv1.PreviousPinAnnotation, commitA),
		HaveKeyWithValue(wavefrontv1.AdmittedAtAnnotation, "2026-03-04T05:07:07Z"),
	))

	// Flux transfers the claim to itself, then applies without the commit.
	w.applyAs(g, flux, commit(commitB), nil)
	w.applyAs(g, flux, nil, nil)
	s = w.read(g)
	g.Expect(s.Spec.Reference.Commit).To(Equal(commitB))
	r = w.react(g)
	g.Expect(r.Outcome).To(Equal(Idle))
	g.Expect(r.Judgement.Claim).To(Equal(fleet.ClaimHandPin))
	g.Expect(w.writes).To(Equal(1))

	w.edit(g, edit, editCommit("null"))
	r = w.react(g)
	g.Expect(r.Action).To(Equal(ActionPutBack))
	s = w.read(g)
	g.Expect(s.Spec.Reference.Commit).To(Equal(commitB), "taking the value away ends the hold, not the pin")
	g.Expect(s.Annotations).NotTo(HaveKey(wavefrontv1.HeldByAnnotation))
	g.Expect(w.react(g).Judgement.Claim).To(Equal(fleet.ClaimNone))
}

func TestHandPinStrippedBeforeItWasShared(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	w.edit(g, edit, editCommit(quoted(commitB)))
	w.edit(g, edit, editCommit("null"))

	r := w.react(g)
	g.Expect(r.Action).To(Equal(ActionPutBackHeld))
	g.Expect(r.Outcome).To(Equal(Written))
	g.Expect(r.Changed()).To(BeTrue())
	s := w.read(g)
	g.Expect(s.Spec.Reference.Commit).To(Equal(commitB))
	g.Expect(s.Annotations).To(HaveKey(wavefrontv1.HeldByAnnotation))
	g.Expect(w.react(g).Judgement).To(Equal(Judgement{Claim: fleet.ClaimHandPin, Manager: edit}))
}

func TestSecondHandPin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	w.edit(g, edit, editCommit(quoted(commitB)))
	w.react(g)
	w.edit(g, "kubectl-patch", editCommit(quoted(commitC)))
	r := w.react(g)
	g.Expect(r.Action).To(Equal(ActionShare))
	s := w.read(g)
	g.Expect(s.Annotations[wavefrontv1.HeldByAnnotation]).To(HavePrefix("kubectl-patch since"))
	g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.PreviousPinAnnotation, commitB))
	g.Expect(w.react(g).Outcome).To(Equal(Idle))
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	w.applyAs(g, flux, commit(commitB), nil)

	r := w.react(g)
	g.Expect(r.Action).To(Equal(ActionFollow))
	g.Expect(r.Judgement.Claim).To(Equal(fleet.ClaimHandPin), "for the first ten seconds")
	s := w.read(g)
	g.Expect(owners(s)).To(Equal([]string{flux}), "nothing is shared")
	g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.PinnedCommitAnnotation, commitB))

	w.clock.at += r.Judgement.Recheck
	r = w.react(g)
	g.Expect(r.Outcome).To(Equal(Idle))
	g.Expect(r.Judgement).To(Equal(Judgement{Claim: fleet.ClaimDeclared, Manager: flux}))

	before := w.read(g).ResourceVersion
	w.applyAs(g, flux, commit(commitB), nil)
	g.Expect(w.react(g).Outcome).To(Equal(Idle))
	g.Expect(w.read(g).ResourceVersion).To(Equal(before), "no apply fight")

	w.applyAs(g, flux, nil, nil) // Git drops the commit
	r = w.react(g)
	g.Expect(r.Action).To(Equal(ActionPutBack))
	g.Expect(r.Changed()).To(BeTrue())
	s = w.read(g)
	g.Expect(s.Spec.Reference.Commit).To(Equal(commitB))
	g.Expect(owners(s)).To(Equal([]string{ours}))
	g.Expect(w.react(g).Judgement).To(Equal(Judgement{}))
}

func TestDeclaredCommitOfOurOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	w.applyAs(g, flux, commit(commitA), nil)
	g.Expect(w.react(g).Outcome).To(Equal(Idle))
	w.clock.at = time.Minute
	r := w.react(g)
	g.Expect(r.Action).To(Equal(ActionGiveUp))
	g.Expect(r.Changed()).To(BeFalse())
	s := w.read(g)
	g.Expect(owners(s)).To(Equal([]string{flux}))
	g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.AdmittedAtAnnotation, base.Format(time.RFC3339)), "the value did not change")
}

func TestRemovedOnPurpose(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	w.edit(g, "wfctl", `{"metadata":{"annotations":{"`+wavefrontv1.PinnedCommitAnnotation+`":null}},"spec":{"ref":{"commit":null}}}`)
	r := w.react(g)
	g.Expect(r.Outcome).To(Equal(Idle))
	g.Expect(w.read(g).Spec.Reference.Commit).To(BeEmpty())

	w.edit(g, "somebody", `{"metadata":{"annotations":{"`+wavefrontv1.PinnedCommitAnnotation+`":"`+commitA+`"}}}`)
	g.Expect(w.react(g).Outcome).To(Equal(Idle), "given up for good")
}

func TestVanishedWhileNotEnforcing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	s := w.edit(g, edit, editCommit("null"))
	r := w.React(context.Background(), s.GitRepository, s.facts(), Policy{Owner: fleetWF})
	g.Expect(r.Outcome).To(Equal(Idle))
	g.Expect(w.react(g).Outcome).To(Equal(Idle), "not put back when the mode changes later")
}

func TestReactionRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	stale := w.see(g)
	s := w.edit(g, edit, editCommit("null"))
	policy := Policy{Owner: fleetWF, Enforce: true}

	w.api.put(wavefront(func(wf *wavefrontv1.Wavefront) { wf.Spec.Suspend = true }))
	g.Expect(w.React(context.Background(), s.GitRepository, s.facts(), policy).Outcome).To(Equal(Suspended))
	w.api.put(wavefront())
	w.lease = errNoLease
	g.Expect(w.React(context.Background(), s.GitRepository, s.facts(), policy).Outcome).To(Equal(NotLeader))
	w.lease = nil
	w.refuse = forbidden()
	r := w.React(context.Background(), s.GitRepository, s.facts(), policy)
	g.Expect(r.Outcome).To(Equal(Failed))
	g.Expect(r.Err).To(MatchError(ContainSubstring(`failed to apply GitRepository "apps/repo"`)))
	w.refuse = nil
	r = w.React(context.Background(), stale.GitRepository, s.facts(), policy)
	g.Expect(r.Outcome).To(Equal(Stale))
	g.Expect(w.react(g).Outcome).To(Equal(Written), "tried again until it succeeds")
}

func TestForeignAnnotations(t *testing.T) {
	t.Parallel()

	record := func(value string) map[string]string {
		return map[string]string{wavefrontv1.PinnedCommitAnnotation: value}
	}
	t.Run("a hand is corrected without force", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := pinned(g, commitA)
		w.applyAs(g, "kubectl", nil, record(commitC))
		r := w.react(g)
		g.Expect(r.Action).To(Equal(ActionFollow))
		g.Expect(r.Outcome).To(Equal(Written))
		s := w.read(g)
		g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.PinnedCommitAnnotation, commitA))
		g.Expect(OwnershipOf(s.ManagedFields).ForeignAnnotations).To(BeEmpty())
		g.Expect(owners(s)).To(Equal([]string{ours}))
	})
	t.Run("an applier of Git is not fought", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := pinned(g, commitA)
		w.applyAs(g, flux, nil, record(commitC))
		w.writes = 0
		r := w.react(g)
		g.Expect(r.Outcome).To(Equal(Failed))
		g.Expect(r.Err).To(MatchError(And(
			ContainSubstring(wavefrontv1.PinnedCommitAnnotation), ContainSubstring(flux))))
		g.Expect(w.writes).To(BeZero())
	})
}

func TestNudge(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	generations := 0
	missed := func() source {
		s := w.see(g)
		return source{s.DeepCopy()}.reconciled(commitB)
	}
	react := func() Result {
		s := missed()
		return w.React(context.Background(), s.GitRepository, s.facts(), Policy{Owner: fleetWF, Enforce: true})
	}
	g.Expect(react().Judgement.Recheck).To(Equal(NudgeAfter))
	for patience := NudgeAfter; patience <= 4*NudgeAfter; patience *= 2 {
		w.clock.at += patience
		before := missed().ResourceVersion
		r := react()
		g.Expect(r.Action).To(Equal(ActionNudge))
		g.Expect(r.Outcome).To(Equal(Written))
		g.Expect(r.Changed()).To(BeFalse(), "it is the same commit")
		s := w.read(g)
		g.Expect(s.Spec.Reference.Commit).To(Equal(commitA), "written as before")
		g.Expect(s.ResourceVersion).NotTo(Equal(before))
		generations += 2
		g.Expect(w.writes).To(Equal(generations))
		g.Expect(react().Judgement.Recheck).To(Equal(2*patience), "ever more patient")
	}
	w.refuse = forbidden()
	w.clock.at += time.Hour
	g.Expect(react().Outcome).To(Equal(Failed))
}
