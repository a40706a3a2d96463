// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"time"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// readShadow reads the would-be pins back from the status, the one list that is
// read as state, in the first pass of a process. In Enforce there are none.
func (r *WavefrontReconciler) readShadow(wf *wavefrontv1.Wavefront) {
	if wf.GetMode() != wavefrontv1.ModeShadow {
		r.Virtual.Drop(wf.Name)
		return
	}
	var pins []wavefrontv1.ShadowPin
	if wf.Status.Shadow != nil {
		pins = wf.Status.Shadow.Pins
	}
	r.Virtual.Seed(wf.Name, pins)
}

// actShadow moves virtual pins only; the report announces the moves. It tells when
// to judge what follows from them.
func (r *WavefrontReconciler) actShadow(name string, moves []fleet.Move) time.Duration {
	var again time.Duration
	for _, m := range moves {
		if r.Virtual.Move(name, m) {
			again = batchWindow
		}
	}
	return again
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
