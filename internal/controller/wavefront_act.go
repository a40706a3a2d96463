// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

const (
	// writers is how many sources are written at once.
	writers = 8

	// staleRetry is how soon a source that changed while it was judged is
	// looked at again, should its event be late.
	staleRetry = time.Second

	// failureRetry is how soon a write that failed is tried again.
	failureRetry = 10 * time.Second
)

// act carries out what was decided, and says what there is to tell of it and when
// to look again.
func (r *WavefrontReconciler) act(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, j *judgement) ([]report.Outcome, time.Duration, error) {
	if wf.GetMode() == wavefrontv1.ModeShadow {
		clear(s.left)
		return nil, r.actShadow(wf.Name, j.ev.Moves), nil
	}
	var outcomes []report.Outcome
	if !s.begun {
		outcomes = untold(wf, j)
	}
	moved, retry, err := r.enforce(ctx, wf, j)
	if err != nil {
		return nil, 0, err
	}
	released, again, err := r.releaseLeavers(ctx, s, wf, j)
	if err != nil {
		return nil, 0, err
	}
	return append(append(outcomes, moved...), released...), soonest(retry, again), nil
}

// enforce writes the moves.
func (r *WavefrontReconciler) enforce(ctx context.Context, wf *wavefrontv1.Wavefront, j *judgement) ([]report.Outcome, time.Duration, error) {
	var outcomes []report.Outcome
	var retry time.Duration
	for i, result := range r.move(ctx, wf.Name, j) {
		m := j.ev.Moves[i]
		switch result.Outcome {
		case pin.NotLeader:
			return nil, 0, fmt.Errorf("%w: %w", errNotLeader, result.Err)
		case pin.Failed:
			retry = soonest(retry, failureRetry)
			outcomes = append(outcomes, report.OutcomeOf(m, result.Err))
		case pin.Held:
			outcomes = append(outcomes, outcome(report.Conflicted, result))
		case pin.Written:
			if result.Changed() {
				outcomes = append(outcomes, report.OutcomeOf(m, nil))
			}
		case pin.Stale, pin.Suspended:
			retry = soonest(retry, staleRetry)
		case pin.Idle, pin.Gone:
		}
	}
	return outcomes, retry, nil
}

// move writes the moves, several at once: none of them waits for another.
func (r *WavefrontReconciler) move(ctx context.Context, owner string, j *judgement) []pin.Result {
	results := make([]pin.Result, len(j.ev.Moves))
	repositories := repositoriesByID(j.snap)
	group := errgroup.Group{}
	group.SetLimit(writers)
	for i, m := range j.ev.Moves {
		g := repositories[m.Source]
		if g == nil {
			results[i] = pin.Result{Source: m.Source, Outcome: pin.Gone}
			continue
		}
		group.Go(func() error {
			results[i] = r.Writer.Move(ctx, m, g, owner)
			return nil
		})
	}
	// The results carry the errors.
	_ = group.Wait()
	return results
}

// outcome reports a result of a write.
func outcome(result report.Result, of pin.Result) report.Outcome {
	o := report.Outcome{Result: result, Source: of.Source, From: of.From, To: of.To, Err: of.Err}
	if of.Object != nil {
		o.UID = string(of.Object.UID)
	}
	return o
}

// untold finds the admissions that an earlier process wrote and did not live to
// tell of: the source carries a pin of ours that replaced the one which the status
// shows.
func untold(wf *wavefrontv1.Wavefront, j *judgement) []report.Outcome {
	told := make(map[string]fleet.Revision, len(wf.Status.Members))
	for _, m := range wf.Status.Members {
		if m.Source != "" {
			told[m.Source] = fleet.Revision(m.Pin)
		}
	}
	repositories := repositoriesByID(j.snap)
	var outcomes []report.Outcome
	for i := range j.ev.Sources {
		s := &j.ev.Sources[i]
		before, known := told[s.ID.Namespace+"/"+s.ID.Name]
		g := repositories[s.ID]
		if !known || g == nil || !s.Real || s.Hold != nil || before.Same(s.Pin) || !replaced(g, wf.Name, before, s.Pin) {
			continue
		}
		kind := fleet.Advance
		if before == "" {
			kind = fleet.Initial
		}
		outcomes = append(outcomes, report.OutcomeOf(fleet.Move{Kind: kind, Source: s.ID, From: before, To: s.Pin}, nil))
	}
	return outcomes
}

// replaced tells whether the annotations of a source say that the Wavefront replaced
// one pin by the other, by itself.
func replaced(g *sourcev1.GitRepository, owner string, before, after fleet.Revision) bool {
	says := g.Annotations
	return says[wavefrontv1.OwnerAnnotation] == owner && says[wavefrontv1.ForcedByAnnotation] == "" &&
		fleet.Commit(says[wavefrontv1.PinnedCommitAnnotation]).Same(after) &&
		fleet.Commit(says[wavefrontv1.PreviousPinAnnotation]) == before
}
