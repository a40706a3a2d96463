// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

// judgement is a fleet as it was read and judged in one pass.
type judgement struct {
	snap *cluster.Snapshot
	in   fleet.Input
	ev   fleet.Evaluation
}

// pass observes, decides and acts once. It returns what is to be published, and
// when to look again although nothing happened (zero: the report knows).
func (r *WavefrontReconciler) pass(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront) (report.Pass, time.Duration, error) {
	started := r.Clock.Since()
	s.sweeping = s.sweep.open(wf)
	r.readShadow(wf)
	j, retry, err := r.judge(ctx, s, wf)
	if err != nil {
		return report.Pass{}, 0, err
	}
	took := r.Clock.Since() - started

	r.ledger.declare(wf.Name, policies(wf, j))
	r.observe(wf, j)
	if s.sweeping && s.sweep.begin(wf, r.Observer) {
		retry = soonest(retry, batchWindow)
	}
	outcomes, again, err := r.act(ctx, s, wf, j)
	if err != nil {
		return report.Pass{}, 0, err
	}
	again = soonest(again, r.forgive(wf, j))
	return report.Pass{
		Evaluation:        j.ev,
		Outcomes:          append(outcomes, r.ledger.take(wf.Name)...),
		ShadowPins:        r.shadowPins(wf, j),
		OldestObservation: oldest(&j.in, &j.ev),
		Duration:          took,
	}, soonest(soonest(retry, again), j.ev.Recheck), nil
}

// judge reads the fleet and applies the rules. Nodes that would be settled for
// the first time at their pin are read live first.
func (r *WavefrontReconciler) judge(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront) (*judgement, time.Duration, error) {
	snap, err := r.Reader.Read(ctx)
	if err != nil {
		return nil, 0, err
	}
	replace(snap, wf)
	j := &judgement{snap: snap}
	var retry time.Duration
	if j.in, err = r.input(s, snap, wf.Name, &retry); err != nil {
		return nil, 0, err
	}
	j.ev = s.evaluator.Evaluate(j.in)
	if len(j.ev.Confirm) > 0 {
		c := confirmation{reconciler: r, scope: s, wavefront: wf.Name, cached: j}
		confirmed, again, err := c.run(ctx)
		if err != nil {
			return nil, 0, err
		}
		retry = soonest(retry, again)
		if confirmed {
			s.memory.annotate(&j.in, pinsSeen(&j.in))
			j.ev = s.evaluator.Evaluate(j.in)
		}
	}
	s.memory.learn(&j.ev, pinsSeen(&j.in))
	return j, retry, nil
}

// replace has the pass judge by the very version of the Wavefront that it acts by:
// the cache may have moved on since.
func replace(snap *cluster.Snapshot, wf *wavefrontv1.Wavefront) {
	for i, known := range snap.Wavefronts {
		if known.Name == wf.Name {
			snap.Wavefronts[i] = wf
			return
		}
	}
	snap.Wavefronts = append(snap.Wavefronts, wf)
}

// input makes the rules' input of what was read and what this process knows. Where
// time alone changes whose a pin is, it brings recheck forward to that.
func (r *WavefrontReconciler) input(s *scope, snap *cluster.Snapshot, name string, recheck *time.Duration) (fleet.Input, error) {
	now := r.Clock.Now()
	wf := snap.Wavefront(name)
	known := &local{
		reconciler: r, wavefront: name, now: now,
		shadow: wf != nil && wf.GetMode() == wavefrontv1.ModeShadow,
	}
	in, err := snap.Input(name, now, r.Clock.Time(), known)
	if err != nil {
		return fleet.Input{}, err
	}
	if recheck != nil {
		*recheck = soonest(*recheck, known.recheck)
	}
	s.memory.annotate(&in, pinsSeen(&in))
	return in, nil
}

// local adds what only this process knows. What it remembers of nodes depends on
// their sources' pins, so nodeMemory adds that afterwards.
type local struct {
	reconciler *WavefrontReconciler
	wavefront  string
	// shadow: the Wavefront is in Shadow, where virtual pins count.
	shadow bool
	now    fleet.Instant
	// recheck is when the passing of time alone changes whose a pin is.
	recheck time.Duration
}

// AnnotateNode implements cluster.Local.
func (l *local) AnnotateNode(*fleet.Node) {}

// AnnotateSource implements cluster.Local.
func (l *local) AnnotateSource(s *fleet.Source, g *sourcev1.GitRepository) {
	r := l.reconciler
	facts := pin.Facts{Object: g, Source: *s, Seen: r.Tracker.Seen(g), Now: l.now}
	r.Judge.Annotate(s, facts)
	if len(facts.Seen.Ownership.Foreign) > 0 {
		l.recheck = soonest(l.recheck, r.Judge.Judge(facts).Recheck)
	}
	if l.shadow {
		r.Virtual.Annotate(l.wavefront, s)
	}
	observation, err := r.Observer.Observed(s.ID, s.URL, s.Ref)
	s.Observed = observation
	if err != nil {
		s.ObservationError = err.Error()
	}
}

func repositoriesByID(snap *cluster.Snapshot) map[fleet.ID]*sourcev1.GitRepository {
	byID := make(map[fleet.ID]*sourcev1.GitRepository, len(snap.GitRepositories))
	for _, g := range snap.GitRepositories {
		byID[sourceID(g)] = g
	}
	return byID
}

func sourcesByID(in *fleet.Input) map[fleet.ID]*fleet.Source {
	byID := make(map[fleet.ID]*fleet.Source, len(in.Sources))
	for i := range in.Sources {
		byID[in.Sources[i].ID] = &in.Sources[i]
	}
	return byID
}

func sourceID(g *sourcev1.GitRepository) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: g.Namespace, Name: g.Name}
}
