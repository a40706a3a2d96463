// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/report"
)

// pass observes, decides and acts once. It returns what is to be published, and
// when to look again although nothing happened (zero: the report knows).
func (r *WavefrontReconciler) pass(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront) (report.Pass, time.Duration, error) {
	started := r.Clock.Since()
	s.sweeping = s.sweep.pending(wf, r.Observer)
	if wf.GetMode() == wavefrontv1.ModeShadow {
		r.Virtual.Seed(wf.Name, shadowPins(wf))
	} else {
		r.Virtual.Drop(wf.Name)
	}
	j, retry, err := r.judge(ctx, s, wf.Name)
	if err != nil {
		return report.Pass{}, 0, err
	}
	took := r.Clock.Since() - started

	r.ledger.declare(wf.Name, policies(wf, &j.ev))
	r.observe(wf, j)
	outcomes, again, err := r.act(ctx, wf, j)
	if err != nil {
		return report.Pass{}, 0, err
	}
	released, wait := r.releaseLeavers(ctx, s, wf, j)
	outcomes = append(append(outcomes, released...), r.ledger.take(wf.Name)...)
	retry = soonest(soonest(retry, again), soonest(wait, j.ev.Recheck))
	return report.Pass{
		Evaluation:        j.ev,
		Outcomes:          outcomes,
		ShadowPins:        r.shadowPins(wf, j),
		OldestObservation: oldest(&j.in, &j.ev),
		Duration:          took,
	}, retry, nil
}

// judgement is a fleet as it was read and judged in one pass.
type judgement struct {
	snap *cluster.Snapshot
	in   fleet.Input
	ev   fleet.Evaluation
}

// judge reads the fleet and applies the rules. Nodes that would be settled for
// the first time at their pin are read live first.
func (r *WavefrontReconciler) judge(ctx context.Context, s *scope, name string) (*judgement, time.Duration, error) {
	snap, err := r.Reader.Read(ctx)
	if err != nil {
		return nil, 0, err
	}
	j := &judgement{snap: snap}
	if j.in, err = r.input(s, snap, name); err != nil {
		return nil, 0, err
	}
	j.ev = fleet.Evaluate(j.in)
	var retry time.Duration
	if len(j.ev.Confirm) > 0 {
		c := confirmation{reconciler: r, scope: s, wavefront: name}
		changed, wait, err := c.run(ctx, j)
		if err != nil {
			return nil, 0, err
		}
		retry = wait
		if changed {
			s.memory.annotate(&j.in, pinsSeen(&j.in))
			j.ev = fleet.Evaluate(j.in)
		}
	}
	s.memory.learn(&j.ev, pinsSeen(&j.in))
	return j, retry, nil
}

// input makes the rules' input of what was read and what this process knows.
func (r *WavefrontReconciler) input(s *scope, snap *cluster.Snapshot, name string) (fleet.Input, error) {
	now := r.Clock.Now()
	wf := snap.Wavefront(name)
	in, err := snap.Input(name, now, r.Clock.Time(), &local{
		reconciler: r, wavefront: name, now: now,
		shadow: wf != nil && wf.GetMode() == wavefrontv1.ModeShadow,
	})
	if err != nil {
		return fleet.Input{}, err
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
}

// AnnotateNode implements cluster.Local.
func (l *local) AnnotateNode(*fleet.Node) {}

// AnnotateSource implements cluster.Local.
func (l *local) AnnotateSource(s *fleet.Source, g *sourcev1.GitRepository) {
	r := l.reconciler
	r.Judge.Annotate(s, pin.Facts{Object: g, Source: *s, Seen: r.Tracker.Seen(g), Now: l.now})
	if l.shadow {
		r.Virtual.Annotate(l.wavefront, s)
	}
	observation, err := r.Observer.Observed(s.ID, s.URL, s.Ref)
	s.Observed = observation
	if err != nil {
		s.ObservationError = err.Error()
	}
}

// observe tells the observer what to list, and what first.
func (r *WavefrontReconciler) observe(wf *wavefrontv1.Wavefront, j *judgement) {
	poll := wf.Spec.Poll
	targets := make([]refs.Target, 0, len(j.ev.Sources))
	repositories := repositoriesByID(j.snap)
	for i := range j.ev.Sources {
		source := &j.ev.Sources[i]
		if g := repositories[source.ID]; g != nil {
			targets = append(targets, refs.Target{Source: source.ID, Repository: g, Rank: source.Rank})
		}
	}
	r.Observer.Sync(wf.Name, refs.Schedule{
		Interval:           poll.GetInterval(),
		Timeout:            poll.GetTimeout(),
		ReplicaLag:         poll.GetReplicaLag(),
		StaleAfter:         poll.GetStaleAfter(),
		PerHostConcurrency: poll.GetPerHostConcurrency(),
		Enforce:            wf.GetMode() == wavefrontv1.ModeEnforce,
	}, targets)
	r.Observer.Defer(wf.Name, j.ev.Waiting)
	for _, refresh := range j.ev.Refresh {
		r.Observer.Refresh(refresh.Source, refresh.After)
	}
	sources := sourcesByID(&j.in)
	for i := range j.ev.Sources {
		if s := sources[j.ev.Sources[i].ID]; s != nil && s.Ref != "" && !s.PinSeen.IsZero() {
			// An observation from before the pin changed says nothing about it.
			r.Observer.Refresh(s.ID, s.PinSeen)
		}
	}
}

// policies tells the reactions to single sources whose they are.
func policies(wf *wavefrontv1.Wavefront, ev *fleet.Evaluation) map[fleet.ID]pin.Policy {
	enforce := wf.GetMode() == wavefrontv1.ModeEnforce && !wf.Spec.Suspend
	all := make(map[fleet.ID]pin.Policy, len(ev.Sources))
	for i := range ev.Sources {
		s := &ev.Sources[i]
		all[s.ID] = pin.Policy{Owner: wf.Name, Enforce: enforce && !s.Contested}
	}
	return all
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

// shadowPins reads the would-be pins back from the status: the one list that is
// read as state.
func shadowPins(wf *wavefrontv1.Wavefront) []wavefrontv1.ShadowPin {
	if wf.Status.Shadow == nil {
		return nil
	}
	return wf.Status.Shadow.Pins
}

// shadowPins returns the would-be pins to publish.
func (r *WavefrontReconciler) shadowPins(wf *wavefrontv1.Wavefront, j *judgement) map[fleet.ID]fleet.Revision {
	if wf.GetMode() != wavefrontv1.ModeShadow {
		return nil
	}
	sources := sourcesByID(&j.in)
	inScope := make([]fleet.Source, 0, len(j.ev.Sources))
	for i := range j.ev.Sources {
		if s := sources[j.ev.Sources[i].ID]; s != nil {
			inScope = append(inScope, *s)
		}
	}
	pins := map[fleet.ID]fleet.Revision{}
	for _, p := range r.Virtual.Pins(wf.Name, inScope) {
		namespace, name, _ := strings.Cut(p.Source, "/")
		pins[fleet.ID{Kind: fleet.KindGitRepository, Namespace: namespace, Name: name}] = fleet.Revision(p.Commit)
	}
	return pins
}

// oldest returns when the oldest observation that counts was made.
func oldest(in *fleet.Input, ev *fleet.Evaluation) time.Time {
	sources := sourcesByID(in)
	var at time.Time
	for i := range ev.Sources {
		s := sources[ev.Sources[i].ID]
		if s == nil || s.Observed == nil {
			continue
		}
		made := in.Clock.Add(s.Observed.Started.At - in.Now.At)
		if at.IsZero() || made.Before(at) {
			at = made
		}
	}
	return at
}
