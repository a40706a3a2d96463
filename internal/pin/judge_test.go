// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// judgeCase is a history of one source, and what is to be concluded from it.
type judgeCase struct {
	name string
	// versions that the process saw, a second apart; the last is judged.
	versions []source
	// initial: the first version was there when the process started, and its
	// managers since long before.
	initial bool
	// later is how long after the last version it is judged.
	later time.Duration
	// shadow: nothing may be written.
	shadow   bool
	expected Judgement
}

func runJudgeCases(t *testing.T, tests []judgeCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker, clock := newTestTracker()
			if tt.initial {
				clock.at = time.Hour
			}
			var last source
			for i, v := range tt.versions {
				tracker.observe(v.GitRepository, tt.initial && i == 0)
				clock.at += time.Second
				last = v
			}
			clock.at += tt.later - time.Second
			judge := Judge{Declarative: DeclarativeManagers}
			got := judge.Judge(Facts{
				Object: last.GitRepository, Source: last.facts(), Seen: tracker.Seen(last.GitRepository),
				Policy: Policy{Owner: fleetWF, Enforce: !tt.shadow}, Now: clock.now(),
			})
			NewWithT(t).Expect(got).To(Equal(tt.expected))
		})
	}
}

func (s source) unmanaged() source {
	s.Labels = nil
	return s
}

func (s source) onTag() source {
	s.Spec.Reference.Tag = "v1"
	return s
}

func (s source) onNextBranch() source {
	s.Spec.Reference.Branch = "next"
	return s
}

func (s source) deleting() source {
	now := metav1.NewTime(base)
	s.DeletionTimestamp = &now
	return s
}

func (s source) artifact(commit string) source {
	s.Status.Artifact = &fluxmeta.Artifact{Revision: commit}
	return s
}

func TestJudgeOfPins(t *testing.T) {
	t.Parallel()

	hand := func(m string, r Reaction) Judgement {
		return Judgement{Claim: fleet.ClaimHandPin, Manager: m, Reaction: r}
	}
	declared := func(r Reaction) Judgement {
		return Judgement{Claim: fleet.ClaimDeclared, Manager: flux, Reaction: r}
	}
	young := func(r Reaction) Judgement {
		j := hand(flux, r)
		j.Recheck = SettleTime + time.Millisecond
		return j
	}
	adopted := func(s source) source { return s.annotated(wavefrontv1.OwnerAnnotation, "other") }

	runJudgeCases(t, []judgeCase{
		{name: "no pin", versions: []source{aSource(1)}},
		{name: "our pin", versions: []source{aSource(1).at(commitA, ours).recorded(commitA)}},
		{
			name:     "our pin in capitals, as an interrupted nudge leaves it",
			versions: []source{aSource(1).at("AAAA"+commitA[4:], ours).recorded(commitA)},
			expected: Judgement{Reaction: Follow},
		},
		{
			name:     "our pin, record edited: the record follows",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitB)},
			expected: Judgement{Reaction: Follow},
		},
		{
			name:     "our pin, record deleted: the record follows",
			versions: []source{aSource(1).at(commitA, ours)},
			expected: Judgement{Reaction: Follow},
		},
		{
			name:     "our pin, owned by another Wavefront or none: it becomes ours",
			versions: []source{adopted(aSource(1).at(commitA, ours).recorded(commitA))},
			expected: Judgement{Reaction: Follow},
		},
		{
			name:     "our pin, and the hold of another value",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitB).heldByHand()},
			expected: Judgement{Reaction: Follow},
		},
		{
			name:     "our pin made for another branch stays until the order moves it",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitA).onNextBranch()},
		},
		{
			name:     "a pin whose owners were wiped, as recorded: claimed again",
			versions: []source{aSource(1).at(commitA).recorded(commitA)},
			expected: Judgement{Reaction: Follow},
		},
		{
			name:     "a pin that nobody owns and nobody recorded",
			versions: []source{aSource(1).at(commitA)},
			expected: hand(UnknownManager, Share),
		},
		{
			name:     "kubectl edit on our pin",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitA), aSource(2).at(commitB, edit).recorded(commitA)},
			expected: hand(edit, Share),
		},
		{
			name:     "wfctl on an unpinned source",
			versions: []source{aSource(1), aSource(2).at(commitB, "wfctl")},
			expected: hand("wfctl", Share),
		},
		{
			name:     "a hand-pin shared",
			versions: []source{aSource(1).at(commitB, edit, ours).recorded(commitB).heldByHand()},
			expected: hand(edit, None),
		},
		{
			name:     "a hand-pin shared and stripped by Flux stays a hand-pin",
			versions: []source{aSource(1).at(commitB, edit, ours).recorded(commitB).heldByHand(), aSource(2).at(commitB, ours).recorded(commitB).heldByHand()},
			expected: hand(edit, None),
		},
		{
			name:     "whoever owns the field, and for however long",
			versions: []source{aSource(1).at(commitB, flux, ours).recorded(commitB).heldByHand()},
			later:    time.Hour,
			expected: hand(edit, None),
		},
		{
			name:     "a held value that is not ours any more is shared again",
			versions: []source{aSource(1).at(commitB, flux).recorded(commitB).heldByHand()},
			later:    time.Hour,
			expected: hand(edit, Share),
		},
		{
			name:     "a hand-pin replaced by another one",
			versions: []source{aSource(1).at(commitB, ours).recorded(commitB).heldByHand(), aSource(2).at(commitC, "kubectl-patch").recorded(commitB).heldByHand()},
			expected: hand("kubectl-patch", Share),
		},
		{
			name:     "a hand-pin handed over between Wavefronts",
			versions: []source{adopted(aSource(1).at(commitB, ours).recorded(commitB).heldByHand())},
			expected: hand(edit, Follow),
		},
		{
			name:     "Git declares a commit: held, not shared, the record follows",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitA), aSource(2).at(commitB, flux).recorded(commitA)},
			expected: young(Follow),
		},
		{
			name:     "Git declares a commit over a hold: the hold goes",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitA).heldByHand(), aSource(2).at(commitB, flux).recorded(commitA).heldByHand()},
			expected: young(Follow),
		},
		{
			name:     "the same a little later",
			versions: []source{aSource(1).at(commitB, flux).recorded(commitB)},
			later:    SettleTime,
			expected: Judgement{Claim: fleet.ClaimHandPin, Manager: flux, Recheck: time.Millisecond},
		},
		{
			name:     "and after ten seconds it is declared",
			versions: []source{aSource(1).at(commitB, flux).recorded(commitB)},
			later:    SettleTime + time.Millisecond,
			expected: declared(None),
		},
		{
			name:     "declared, the record missing",
			versions: []source{aSource(1).at(commitB, flux)},
			later:    time.Minute,
			expected: declared(GiveUp),
		},
		{
			name:     "Git declares the very commit of our pin: nothing is given up too early",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitA), aSource(2).at(commitA, ours, flux).recorded(commitA)},
			expected: young(None),
		},
		{
			name:     "and our claim is given up once it is declared",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitA), aSource(2).at(commitA, ours, flux).recorded(commitA)},
			later:    time.Minute,
			expected: declared(GiveUp),
		},
		{
			name:     "declared for another branch by now: the record follows",
			versions: []source{aSource(1).at(commitA, flux).recorded(commitA).onNextBranch()},
			later:    time.Minute,
			expected: declared(GiveUp),
		},
		{
			name:     "the next declared commit does not have to wait",
			versions: []source{aSource(1).at(commitA, flux).recorded(commitA), aSource(2).at(commitB, flux).recorded(commitA)},
			initial:  true,
			expected: declared(GiveUp),
		},
		{
			name:     "declared since before the process started",
			versions: []source{aSource(1).at(commitA, flux).recorded(commitA)},
			initial:  true,
			expected: declared(None),
		},
		{
			name:     "a hand-pin that Flux took over is no declaration, however old",
			versions: []source{aSource(1).at(commitB, edit), aSource(2).at(commitB, flux)},
			later:    time.Hour,
			expected: hand(edit, Share),
		},
		{
			name:     "Git and a hand own the same commit",
			versions: []source{aSource(1).at(commitB, flux, "wfctl")},
			later:    time.Hour,
			expected: hand("wfctl", Share),
		},
		{
			name:     "nothing is written in Shadow",
			versions: []source{aSource(1).at(commitB, edit)}, shadow: true,
			expected: hand(edit, None),
		},
		{
			name:     "nor to a source that is not managed",
			versions: []source{aSource(1).at(commitB, edit).unmanaged()},
			expected: hand(edit, None),
		},
		{
			name:     "nor to a source that is being deleted",
			versions: []source{aSource(1).at(commitB, edit).deleting()},
			expected: hand(edit, None),
		},
		{
			name:     "nor where the style of reference is not sequenced",
			versions: []source{aSource(1).at(commitB, edit).onTag()},
			expected: hand(edit, None),
		},
	})
}

// reconciled is what source-controller says that it has done.
func (s source) reconciled(artifact string) source {
	s.Status.ObservedGeneration = s.Generation
	s.Status.Conditions = []metav1.Condition{{
		Type: fluxmeta.ReadyCondition, Status: metav1.ConditionTrue, ObservedGeneration: s.Generation,
	}}
	return s.artifact(artifact)
}

func TestJudgeOfMissedPins(t *testing.T) {
	t.Parallel()

	missed := func() source { return aSource(1).at(commitA, ours).recorded(commitA).reconciled(commitB) }
	change := func(f func(source)) source {
		s := missed()
		f(s)
		return s
	}
	nudge := Judgement{Reaction: Nudge}
	runJudgeCases(t, []judgeCase{
		{
			name:     "source-controller says it has reconciled the pin, and serves another commit",
			versions: []source{missed()}, later: NudgeAfter, expected: nudge,
		},
		{
			name:     "it may still notice by itself",
			versions: []source{missed()}, later: NudgeAfter - time.Second,
			expected: Judgement{Recheck: time.Second},
		},
		{name: "it serves the pin", versions: []source{missed().reconciled(commitA)}, later: time.Hour},
		{
			name: "it is at work", later: time.Hour,
			versions: []source{change(func(s source) {
				s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: fluxmeta.ReconcilingCondition, Status: metav1.ConditionTrue})
			})},
		},
		{name: "it has not seen the pin yet", later: time.Hour, versions: []source{change(func(s source) { s.Generation = 2 })}},
		{
			name: "it can't fetch the pin", later: time.Hour,
			versions: []source{change(func(s source) { s.Status.Conditions[0].Status = metav1.ConditionFalse })},
		},
		{name: "it is suspended", later: time.Hour, versions: []source{change(func(s source) { s.Spec.Suspend = true })}},
		{name: "nothing is written in Shadow", versions: []source{missed()}, later: time.Hour, shadow: true},
		{
			name:     "the commit is another's too",
			versions: []source{change(func(s source) { s.at(commitA, edit).heldByHand() })}, later: time.Hour,
			expected: Judgement{Claim: fleet.ClaimHandPin, Manager: edit},
		},
		{
			name:     "a hold of our own claim alone",
			versions: []source{missed().heldByHand()}, later: time.Hour,
			expected: Judgement{Claim: fleet.ClaimHandPin, Manager: edit, Reaction: Nudge},
		},
	})
}

func TestJudgeOfVanishedPins(t *testing.T) {
	t.Parallel()

	a, b := fleet.Commit(commitA), fleet.Commit(commitB)
	putBack := Judgement{Reaction: PutBack, To: a}
	putBackHeld := func(m string) Judgement {
		return Judgement{Claim: fleet.ClaimHandPin, Manager: m, Reaction: PutBackHeld, To: b}
	}
	pinned := aSource(1).at(commitA, ours).recorded(commitA)
	stripped := func() source { return aSource(2).recorded(commitA) }

	runJudgeCases(t, []judgeCase{
		{name: "our pin is put back", versions: []source{pinned, stripped()}, expected: putBack},
		{
			name:     "within the window, wherever the artifact is",
			versions: []source{pinned, stripped().artifact(commitC)},
			later:    RestoreWindow, expected: putBack,
		},
		{
			name:     "after the window only if it has not floated on",
			versions: []source{pinned, stripped().artifact(commitA)},
			later:    RestoreWindow + time.Second, expected: putBack,
		},
		{
			name:     "it has floated on",
			versions: []source{pinned, stripped().artifact(commitC)},
			later:    RestoreWindow + time.Second,
		},
		{name: "removed on purpose, with its record", versions: []source{pinned, aSource(2)}},
		{
			name:     "the record removed before the pin",
			versions: []source{pinned, aSource(2).at(commitA, ours), aSource(3)},
		},
		{name: "not in Shadow", versions: []source{pinned, stripped()}, shadow: true},
		{name: "not when it is being deleted", versions: []source{pinned, stripped().deleting()}},
		{
			name:     "not on another branch",
			versions: []source{pinned, stripped().onNextBranch()},
		},
		{
			name:     "not where the style of reference is not sequenced any more",
			versions: []source{pinned, stripped().onTag()},
		},
		{
			name:     "a record edited in the same change is not believed",
			versions: []source{pinned, aSource(2).recorded(commitC)}, expected: putBack,
		},
		{
			name:     "a shared hand-pin taken away: the hold ends, the pin stays",
			versions: []source{aSource(1).at(commitA, ours).recorded(commitA).heldByHand(), stripped().heldByHand()},
			expected: putBack,
		},
		{
			name:     "a hand-pin that vanishes before it was shared is held all the same",
			versions: []source{pinned, aSource(2).at(commitB, edit).recorded(commitA), aSource(3).recorded(commitA)},
			expected: putBackHeld(edit),
		},
		{
			name:     "also after Flux has transferred the claim to itself",
			versions: []source{pinned, aSource(2).at(commitB, edit).recorded(commitA), aSource(3).at(commitB, flux).recorded(commitA), aSource(4).recorded(commitA)},
			expected: putBackHeld(edit),
		},
		{
			name:     "also where only the transferred claim was seen",
			versions: []source{pinned, aSource(2).at(commitB, flux).recorded(commitA), aSource(3).recorded(commitA)},
			expected: putBackHeld(flux),
		},
		{
			name:     "also on a source that never had a record",
			versions: []source{aSource(1), aSource(2).at(commitB, edit), aSource(3)},
			expected: putBackHeld(edit),
		},
		{
			name:     "but not when its record went with it",
			versions: []source{pinned, aSource(2).at(commitB, edit).recorded(commitA), aSource(3)},
		},
		{
			name:     "Git drops a declared commit: put back, not held",
			versions: []source{aSource(1).at(commitA, flux).recorded(commitA), aSource(2).recorded(commitA)},
			initial:  true, expected: putBack,
		},
		{
			name:     "Git drops a declared commit and the branch",
			versions: []source{aSource(1).at(commitA, flux).recorded(commitA), aSource(2).recorded(commitA).onNextBranch()},
			initial:  true,
		},
	})
}

func TestAnnotate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tracker, clock := newTestTracker()
	held := aSource(1).at(commitA, edit, ours).recorded(commitA).heldByHand()
	tracker.Observe(held.GitRepository)
	tracker.failed(held.GitRepository)

	seen := tracker.Seen(held.GitRepository)
	facts := held.facts()
	Judge{}.Annotate(&facts, Facts{Object: held.GitRepository, Source: facts, Seen: seen, Now: clock.now()})
	g.Expect(facts.PinSeen).To(Equal(seen.Since))
	g.Expect(facts.Ours).To(BeTrue())
	g.Expect(facts.Claim).To(Equal(fleet.ClaimHandPin))
	g.Expect(facts.Manager).To(Equal(edit))
	g.Expect(facts.PinFailures).To(Equal(1))
}
