// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// React judges the newest version of one source and writes what can't wait for
// its turn: holds are shared, declared commits are let go, pins that vanished
// are put back, and the record follows. Call it on every event of a source, with
// the facts that cluster.Source makes of tracker.Newest; Result.Judgement.Recheck
// says when to call it again although nothing happened.
//
// A pin that vanishes while the policy does not enforce is given up: it is not
// put back when the policy does.
func (w *Writer) React(ctx context.Context, g *sourcev1.GitRepository, source fleet.Source, policy Policy) Result {
	f := Facts{Object: g, Source: source, Seen: w.Tracker.Seen(g), Policy: policy, Now: w.Now()}
	judgement := w.Judge.Judge(f)
	r := Result{
		Source: sourceID(g), Action: Action(judgement.Reaction), Outcome: Idle, Manager: judgement.Manager,
		From: f.Seen.Pin, To: f.Seen.Pin, Object: g, Judgement: judgement,
	}
	if judgement.Reaction == None {
		if f.Seen.Vanished != nil {
			w.Tracker.Settle(g)
		}
		return r
	}
	if !w.Tracker.isNewest(g) {
		r.Outcome = Stale
		return r
	}
	if suspended, err := w.suspended(ctx, policy.Owner, nil); err != nil {
		return w.fail(r, g, err)
	} else if suspended {
		r.Outcome = Suspended
		return r
	}
	if judgement.Reaction == Nudge {
		return w.nudge(ctx, r, g, f.Seen.Ownership)
	}
	return w.write(ctx, r, g, w.reaction(f, judgement))
}

// nudge writes the pin in capitals and back: the same commit to Flux, but a new
// generation, which makes source-controller look again.
func (w *Writer) nudge(ctx context.Context, r Result, g *sourcev1.GitRepository, o Ownership) Result {
	w.Tracker.nudged(g)
	want := keep(g, o)
	want.commit = strings.ToUpper(want.commit)
	r = w.write(ctx, r, g, want)
	if r.Outcome != Written {
		return r
	}
	want.commit = strings.ToLower(want.commit)
	return w.write(ctx, r, r.Object, want)
}

// reaction renders what a reaction wants of a source.
func (w *Writer) reaction(f Facts, judgement Judgement) wanted {
	g, o := f.Object, f.Seen.Ownership
	want := keep(g, o)
	want.set(wavefrontv1.OwnerAnnotation, f.Policy.Owner)
	held := g.Annotations[wavefrontv1.HeldByAnnotation]
	if !recordOf(g).Same(f.Seen.Pin) {
		held = "" // it stands for another value
	}
	switch judgement.Reaction {
	case Share:
		want.commit = commitOf(g)
		if held == "" {
			held = HeldBy(judgement.Manager, w.Clock())
			w.follow(want, f)
		}
		want.set(wavefrontv1.HeldByAnnotation, held)
	case PutBackHeld:
		want.commit = string(judgement.To)
		w.renew(want, g, judgement.To)
		want.set(wavefrontv1.HeldByAnnotation, HeldBy(judgement.Manager, w.Clock()))
	case PutBack:
		want.commit = string(judgement.To)
		w.renew(want, g, judgement.To)
		want.set(wavefrontv1.HeldByAnnotation, "")
	case GiveUp:
		want.commit = ""
		w.follow(want, f)
		want.set(wavefrontv1.HeldByAnnotation, "")
	case Follow:
		if len(o.Foreign) == 0 {
			want.commit = string(f.Seen.Pin)
		}
		if !recordOf(g).Same(f.Seen.Pin) {
			w.follow(want, f)
		}
		want.set(wavefrontv1.HeldByAnnotation, held)
	case Nudge, None:
	}
	return want
}

// follow makes the record follow the commit that the source carries. The moment
// of admission moves only when the value did.
func (w *Writer) follow(want wanted, f Facts) {
	g := f.Object
	if !recordOf(g).Same(f.Seen.Pin) {
		w.renew(want, g, f.Seen.Pin)
		return
	}
	want.record(g, f.Seen.Pin)
}

// renew records a commit that the source does not carry by now, or did not by its
// record.
func (w *Writer) renew(want wanted, g *sourcev1.GitRepository, commit fleet.Revision) {
	if before := recordOf(g); !before.Same(commit) {
		if before != "" {
			want.set(wavefrontv1.PreviousPinAnnotation, string(before))
		}
		want.set(wavefrontv1.ForcedByAnnotation, "")
	}
	want.record(g, commit)
	want.set(wavefrontv1.AdmittedAtAnnotation, w.at())
}
