// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// DeclarativeManagers are the field managers that render what Git says, by
// default (flag --declarative-managers).
var DeclarativeManagers = []string{"kustomize-controller", "helm-controller", "flux-operator", "argocd-controller"}

// UnknownManager stands for the manager of a pin that nobody owns and that the
// controller has no record of.
const UnknownManager = "unknown"

// RestoreWindow is how long after a pin was seen to vanish putting it back is
// still the immediate reaction. Later it is put back only if the artifact is
// still at it: what has floated on is not rolled back.
const RestoreWindow = time.Minute

// Reaction is what must be written about a source at once, outside of the order.
type Reaction string

const (
	// None: nothing.
	None Reaction = ""
	// Share: apply the value of a hand-pin under our manager too, with held-by,
	// so that it outlives Flux's strip.
	Share Reaction = "Share"
	// PutBack: put a pin that vanished back. This ends a hold, if there was one.
	PutBack Reaction = "PutBack"
	// PutBackHeld: put a hand-pin that vanished before it was shared back, held.
	PutBackHeld Reaction = "PutBackHeld"
	// GiveUp: drop our claim on a declared commit and any hold, and keep the
	// record, so that the commit vanishes when Git drops it.
	GiveUp Reaction = "GiveUp"
	// Nudge: have source-controller look again, because it says that it has
	// reconciled the pin and serves another commit (see missed).
	Nudge Reaction = "Nudge"
	// Follow: bring record and owner in line with the commit that the source
	// carries; the claim on the commit stays as it is.
	Follow Reaction = "Follow"
)

// Policy is what the Wavefront that has a source in scope says about it.
type Policy struct {
	// Owner is the Wavefront's name.
	Owner string
	// Enforce is set where the source may be written to: the Wavefront is in
	// Enforce, neither suspended nor being deleted, and has the source in scope;
	// where another one contests that, it is the owner already.
	Enforce bool
}

// Facts are everything that a source is judged by.
type Facts struct {
	// Object is the newest version of the source.
	Object *sourcev1.GitRepository
	// Source is what the object says (cluster.Source).
	Source fleet.Source
	// Seen is what the process has seen of it.
	Seen Seen
	// Policy of the Wavefront.
	Policy Policy
	// Now is the moment of the judgement.
	Now fleet.Instant
}

// Judgement says whose a pin is and what must be done about it at once.
type Judgement struct {
	// Claim says whose the pin is.
	Claim fleet.Claim
	// Manager is who fixed the commit, where it is not the controller.
	Manager string
	// Reaction to write now.
	Reaction Reaction
	// To is the commit that PutBack and PutBackHeld write.
	To fleet.Revision
	// Recheck is when, from now, the judgement changes by the passing of time
	// alone; zero if it does not.
	Recheck time.Duration
}

// Judge tells whose the pin of a source is, from field ownership and what this
// process has seen. It is pure.
type Judge struct {
	// Declarative are the field managers that count as Git's.
	Declarative []string
}

// Judge judges one source.
func (j Judge) Judge(f Facts) Judgement {
	if f.Seen.Pin == "" {
		return j.vanished(f)
	}
	v := j.claim(f.Seen, recordOf(f.Object), f.Object.Annotations[wavefrontv1.HeldByAnnotation], f.Now)
	result := Judgement{Claim: v.claim, Manager: v.manager, Recheck: v.recheck}
	if f.writable() {
		result.Reaction = v.reaction(f)
	}
	if wait, missed := f.missed(); missed && f.writable() && result.Reaction == None {
		if wait <= 0 {
			result.Reaction = Nudge
		} else if result.Recheck == 0 || wait < result.Recheck {
			result.Recheck = wait
		}
	}
	return result
}

// Annotate adds to the facts of a source what was seen and judged of its pin.
func (j Judge) Annotate(s *fleet.Source, f Facts) {
	judgement := j.Judge(f)
	s.PinSeen = f.Seen.Since
	s.Ours = f.Seen.Ownership.Ours
	s.Claim, s.Manager = judgement.Claim, judgement.Manager
	s.PinFailures = f.Seen.Failures
}

// writable tells whether the pin may be written at all: a style of reference that
// is not sequenced has no pin.
func (f Facts) writable() bool {
	return f.Policy.Enforce && f.Source.Managed && f.Source.Ref != "" && f.Object.DeletionTimestamp.IsZero()
}

// Patience with source-controller before it is asked to look again; it doubles each
// time.
const (
	NudgeAfter    = 5 * time.Second
	maxNudgeAfter = 5 * time.Minute
)

// missed tells whether source-controller has missed the pin, and for how long it may
// still take to notice by itself. It reads its own status from a cache: where two
// reconciliations follow each other closely, the second may believe that the artifact
// of the first was never stored, find everything in place, and report the pin as
// reconciled while it serves another commit; until its next interval, which may be
// hours away. (Seen with source-controller 1.9 whenever a pin is put back right after
// it vanished.) Only a change of spec.ref.commit makes it look again, so the pin must
// be the controller's alone.
func (f Facts) missed() (wait time.Duration, missed bool) {
	s, o := f.Source, f.Seen.Ownership
	if !o.Ours || len(o.Foreign) > 0 || s.Suspended || s.Pin.Same(s.Artifact) ||
		s.Ready.Status != fleet.True || s.Ready.ObservedGeneration != s.Generation || s.ObservedGeneration != s.Generation ||
		apimeta.IsStatusConditionTrue(f.Object.Status.Conditions, fluxmeta.ReconcilingCondition) {
		return 0, false
	}
	patience := min(NudgeAfter<<min(f.Seen.Nudges, 10), maxNudgeAfter)
	return patience - (f.Now.At - f.Seen.Quiet.At), true
}

// verdict is whose a pin is, with what that was concluded from.
type verdict struct {
	claim   fleet.Claim
	manager string
	// held: the annotation held-by stands, and for the present value.
	held bool
	// declarative: only appliers of Git own the pin, and none took it over
	// from a hand. With recheck set it is too early to call it declared.
	declarative bool
	recheck     time.Duration
}

// claim judges a pin that is there (or was there at that moment).
func (j Judge) claim(s Seen, record fleet.Revision, heldBy string, now fleet.Instant) verdict {
	if heldBy != "" && record.Same(s.Pin) {
		manager, _ := ParseHeldBy(heldBy)
		return verdict{claim: fleet.ClaimHandPin, manager: manager, held: true}
	}
	managers := s.Ownership.Managers()
	switch {
	case len(managers) == 0 && (s.Ownership.Ours || record.Same(s.Pin)):
		return verdict{}
	case len(managers) == 0:
		return verdict{claim: fleet.ClaimHandPin, manager: UnknownManager}
	}
	for _, m := range slices.Concat(managers, s.First) {
		if !slices.Contains(j.Declarative, m) {
			return verdict{claim: fleet.ClaimHandPin, manager: m}
		}
	}
	v := verdict{claim: fleet.ClaimDeclared, manager: managers[0], declarative: true}
	for _, m := range managers {
		if age := now.At - s.Owned[m].At; age <= SettleTime && !slices.Contains(s.Established, m) {
			v.recheck = max(v.recheck, SettleTime-age+time.Millisecond)
		}
	}
	if v.recheck > 0 {
		v.claim = fleet.ClaimHandPin
	}
	return v
}

// reaction says what a pin that is there calls for.
func (v verdict) reaction(f Facts) Reaction {
	ours := f.Seen.Ownership.Ours
	inLine := recordOf(f.Object).Same(f.Seen.Pin) &&
		f.Object.Annotations[wavefrontv1.OwnerAnnotation] == f.Policy.Owner
	holds := f.Object.Annotations[wavefrontv1.HeldByAnnotation] != ""
	switch {
	case v.held && !ours:
		return Share
	case v.held:
		return followUnless(inLine)
	case v.declarative && v.recheck > 0:
		// Nothing is claimed and no claim is given up before it is clear whose
		// the pin is; but the record follows at once.
		return followUnless(ours || inLine && !holds)
	case v.declarative && (ours || holds || !inLine || f.Source.VoidRecord):
		return GiveUp
	case v.declarative:
		return None
	case v.claim == fleet.ClaimHandPin:
		return Share
	}
	// Capitals are left by a nudge that was cut short.
	plain := commitOf(f.Object) == string(f.Seen.Pin)
	return followUnless(ours && inLine && !holds && plain)
}

func followUnless(ok bool) Reaction {
	if ok {
		return None
	}
	return Follow
}

// vanished judges a source without a pin.
func (j Judge) vanished(f Facts) Judgement {
	gone := f.Seen.Vanished
	if gone == nil || !f.writable() {
		return Judgement{}
	}
	record := recordOf(f.Object)
	if record == "" && gone.Record != "" {
		return Judgement{} // taken away on purpose
	}
	if f.Now.At-gone.At.At > RestoreWindow && !gone.Pin.Same(f.Source.Artifact) {
		return Judgement{} // it has floated on
	}
	v := j.claim(gone.Before, gone.Record, gone.HeldBy, gone.At)
	if v.claim == fleet.ClaimHandPin && !v.held && !gone.Before.Ownership.Ours {
		return Judgement{Claim: fleet.ClaimHandPin, Manager: v.manager, Reaction: PutBackHeld, To: gone.Pin}
	}
	if record == "" || f.Source.VoidRecord {
		return Judgement{}
	}
	return Judgement{Reaction: PutBack, To: gone.Pin}
}
