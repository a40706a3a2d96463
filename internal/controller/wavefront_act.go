// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
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

// act carries the moves out. In Shadow they move virtual pins only, and the
// report announces them.
func (r *WavefrontReconciler) act(ctx context.Context, wf *wavefrontv1.Wavefront, j *judgement) ([]report.Outcome, time.Duration, error) {
	if wf.GetMode() == wavefrontv1.ModeShadow {
		var again time.Duration
		for _, m := range j.ev.Moves {
			if r.Virtual.Move(wf.Name, m) {
				again = batchWindow
			}
		}
		return nil, again, nil
	}
	results := r.move(ctx, wf.Name, j)
	var outcomes []report.Outcome
	var retry time.Duration
	for i, result := range results {
		m := j.ev.Moves[i]
		switch result.Outcome {
		case pin.NotLeader:
			return nil, 0, result.Err
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

// releaseLeavers lets go of sources that have been out of scope for two poll
// intervals: a label that flaps must not cost a pin. It returns how long to wait
// for the next one. A Wavefront in Shadow, or suspended, keeps what it owns.
func (r *WavefrontReconciler) releaseLeavers(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, j *judgement) ([]report.Outcome, time.Duration) {
	if wf.GetMode() != wavefrontv1.ModeEnforce || wf.Spec.Suspend {
		clear(s.left)
		return nil, 0
	}
	grace, now := 2*wf.Spec.Poll.GetInterval(), r.Clock.Since()
	left := map[fleet.ID]time.Duration{}
	var outcomes []report.Outcome
	var wait time.Duration
	for _, g := range leavers(wf.Name, j) {
		id := sourceID(g)
		since, known := s.left[id]
		if !known {
			since = now
		}
		left[id] = since
		if rest := grace - (now - since); rest > 0 {
			wait = soonest(wait, rest)
			continue
		}
		result := r.Writer.Release(ctx, g, wf.Name, wf.GetReleasePolicy(), handOver(&j.in, id))
		if released, ok := released(result); ok {
			outcomes = append(outcomes, released)
		}
		if result.Outcome == pin.Failed {
			wait = soonest(wait, failureRetry)
		}
	}
	s.left = left
	return outcomes, wait
}

// leavers are the sources that the Wavefront owns and has no use for: out of
// scope, or following a reference now that a commit pin can't hold.
func leavers(name string, j *judgement) []*sourcev1.GitRepository {
	inScope := make(map[fleet.ID]bool, len(j.ev.Sources))
	for i := range j.ev.Sources {
		s := &j.ev.Sources[i]
		inScope[s.ID] = s.Hold == nil || s.Hold.Reason != fleet.UnsupportedRef
	}
	var gone []*sourcev1.GitRepository
	for _, g := range pin.Owned(j.snap.GitRepositories, name) {
		if !inScope[sourceID(g)] {
			gone = append(gone, g)
		}
	}
	return gone
}

// released reports a release; ok is false where there is nothing to tell.
func released(result pin.Result) (o report.Outcome, ok bool) {
	switch {
	case result.Outcome == pin.Failed:
		return outcome(report.Failed, result), true
	case result.Outcome != pin.Written || result.Action == pin.ActionHandOver:
		return report.Outcome{}, false
	case result.Action == pin.ActionFloat && !result.Kept:
		return outcome(report.Released, result), true
	}
	return outcome(report.Kept, result), true
}

// handOver names another Wavefront in Enforce that has the source in scope.
func handOver(in *fleet.Input, source fleet.ID) string {
	enforcing := map[string]bool{}
	for _, p := range in.Peers {
		enforcing[p.Name] = p.Mode == fleet.Enforce && !p.Deleting
	}
	s := sourcesByID(in)[source]
	if s == nil || !s.Managed {
		return ""
	}
	for i := range in.Nodes {
		if in.Nodes[i].Source != source {
			continue
		}
		for _, name := range in.Nodes[i].SelectedBy {
			if enforcing[name] {
				return name
			}
		}
	}
	return ""
}

func sourceID(g *sourcev1.GitRepository) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: g.Namespace, Name: g.Name}
}
