// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

// releaseLeavers lets go of sources that have been out of scope for two poll
// intervals: a label that flaps must not cost a pin. It returns how long to wait
// for the next one. A Wavefront that is suspended keeps what it owns.
func (r *WavefrontReconciler) releaseLeavers(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, j *judgement) ([]report.Outcome, time.Duration, error) {
	if wf.Spec.Suspend {
		clear(s.left)
		return nil, 0, nil
	}
	due, wait := s.due(leavers(wf.Name, j), 2*wf.Spec.Poll.GetInterval(), r.Clock.Since())
	var outcomes []report.Outcome
	for _, g := range due {
		result := r.Writer.Leave(ctx, g, wf.Name, wf.GetReleasePolicy(), handOver(&j.in, sourceID(g)))
		if result.Outcome == pin.NotLeader {
			return nil, 0, fmt.Errorf("%w: %w", errNotLeader, result.Err)
		}
		if o, ok := released(result); ok {
			outcomes = append(outcomes, o)
		}
		if result.Outcome == pin.Failed || result.Outcome == pin.Stale {
			wait = soonest(wait, failureRetry)
		}
	}
	return outcomes, wait, nil
}

// due notes which sources are out of scope, and picks those that have been for as
// long as the grace. It returns how long the next of the others has left.
func (s *scope) due(leavers []*sourcev1.GitRepository, grace, now time.Duration) (due []*sourcev1.GitRepository, wait time.Duration) {
	left := make(map[fleet.ID]time.Duration, len(leavers))
	for _, g := range leavers {
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
		due = append(due, g)
	}
	s.left = left
	return due, wait
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

// handOver names another Wavefront in Enforce that has the source in scope: one
// that it could pin.
func handOver(in *fleet.Input, source fleet.ID) string {
	enforcing := map[string]bool{}
	for _, p := range in.Peers {
		enforcing[p.Name] = p.Mode == fleet.Enforce && !p.Deleting
	}
	s := sourcesByID(in)[source]
	if s == nil || !s.Managed || s.Ref == "" {
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
