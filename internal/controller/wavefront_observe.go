// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"time"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/refs"
)

// observe tells the observer what to list, and what first.
func (r *WavefrontReconciler) observe(wf *wavefrontv1.Wavefront, j *judgement) {
	r.Observer.Sync(wf.Name, schedule(wf), targets(j))
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

// schedule is the poll policy of a Wavefront with its defaults.
func schedule(wf *wavefrontv1.Wavefront) refs.Schedule {
	poll := wf.Spec.Poll
	return refs.Schedule{
		Interval:           poll.GetInterval(),
		Timeout:            poll.GetTimeout(),
		ReplicaLag:         poll.GetReplicaLag(),
		StaleAfter:         poll.GetStaleAfter(),
		PerHostConcurrency: poll.GetPerHostConcurrency(),
		Enforce:            wf.GetMode() == wavefrontv1.ModeEnforce,
	}
}

// targets are the sources in scope, and those of other Wavefronts that this one
// depends on: the others may list theirs more seldom than this one needs, or in
// another process.
func targets(j *judgement) []refs.Target {
	ranks := make(map[fleet.ID]int, len(j.ev.Sources))
	for i := range j.ev.Sources {
		ranks[j.ev.Sources[i].ID] = j.ev.Sources[i].Rank
	}
	for i := range j.ev.Nodes {
		if n := &j.ev.Nodes[i]; n.Foreign != "" && !n.Source.IsZero() {
			ranks[n.Source] = max(ranks[n.Source], n.Wave)
		}
	}
	all, known := make([]refs.Target, 0, len(ranks)), sourcesByID(&j.in)
	for _, g := range j.snap.GitRepositories {
		if rank, wanted := ranks[sourceID(g)]; wanted {
			s := known[sourceID(g)]
			t := refs.Target{Source: s.ID, Repository: g, Rank: rank, Pin: cmp.Or(s.Pin, s.VirtualPin)}
			if s.Record != "" { // what was pinned of another reference says nothing
				t.Previous = fleet.Commit(g.Annotations[wavefrontv1.PreviousPinAnnotation])
			}
			all = append(all, t)
		}
	}
	return all
}

// policies tells the reactions to single sources whose they are. What is contested
// stands still, so its pin is protected all the same: by the Wavefront that owns it
// already.
func policies(wf *wavefrontv1.Wavefront, j *judgement) map[fleet.ID]pin.Policy {
	enforce := wf.GetMode() == wavefrontv1.ModeEnforce && !wf.Spec.Suspend
	known := sourcesByID(&j.in)
	all := make(map[fleet.ID]pin.Policy, len(j.ev.Sources))
	for i := range j.ev.Sources {
		s := &j.ev.Sources[i]
		owned := known[s.ID] != nil && known[s.ID].Owner == wf.Name
		all[s.ID] = pin.Policy{Owner: wf.Name, Enforce: enforce && (!s.Contested || owned)}
	}
	return all
}

// oldest returns when the oldest of the latest observations was made; zero if
// there is none.
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
