// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
)

// forgive forgets failed writes to sources that nothing is to be written to any
// more: the candidate is gone again, say, or the Wavefront went into Shadow. Only a
// write that succeeds would end the trouble otherwise, and none would come. It tells
// when to judge anew.
func (r *WavefrontReconciler) forgive(wf *wavefrontv1.Wavefront, j *judgement) time.Duration {
	writes := wf.GetMode() == wavefrontv1.ModeEnforce && !wf.Spec.Suspend
	failing := failingSources(&j.in)
	if len(failing) == 0 {
		return 0
	}
	repositories := repositoriesByID(j.snap)
	var again time.Duration
	for i := range j.ev.Sources {
		s := &j.ev.Sources[i]
		known, fails := failing[s.ID]
		if !fails || writes && (s.Pending || !s.Real || r.reacts(known, repositories[s.ID], j.in.Now)) {
			continue
		}
		r.Tracker.Forgive(repositories[s.ID])
		again = batchWindow
	}
	return again
}

// reacts tells whether something is to be written about the source outside of the
// order.
func (r *WavefrontReconciler) reacts(s *fleet.Source, g *sourcev1.GitRepository, now fleet.Instant) bool {
	return r.Judge.Judge(pin.Facts{
		Object: g, Source: *s, Seen: r.Tracker.Seen(g), Policy: r.ledger.policy(s.ID), Now: now,
	}).Reaction != pin.None
}

// failingSources are those whose last writes failed.
func failingSources(in *fleet.Input) map[fleet.ID]*fleet.Source {
	failing := map[fleet.ID]*fleet.Source{}
	for i := range in.Sources {
		if s := &in.Sources[i]; s.PinFailures > 0 {
			failing[s.ID] = s
		}
	}
	return failing
}
