// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Action is what a write is for.
type Action string

// Actions of Move carry the names of the moves, those of React the names of the
// reactions, and those of a release these.
const (
	ActionInitial     = Action(fleet.Initial)
	ActionRestore     = Action(fleet.Restore)
	ActionAdvance     = Action(fleet.Advance)
	ActionShare       = Action(Share)
	ActionPutBack     = Action(PutBack)
	ActionPutBackHeld = Action(PutBackHeld)
	ActionGiveUp      = Action(GiveUp)
	ActionFollow      = Action(Follow)
	ActionNudge       = Action(Nudge)
	// ActionKeep lets go of a source and leaves its commit.
	ActionKeep Action = "Keep"
	// ActionFloat lets go of a source and of its commit.
	ActionFloat Action = "Float"
	// ActionHandOver gives a source to another Wavefront.
	ActionHandOver Action = "HandOver"
)

// Outcome is what became of a write.
type Outcome string

const (
	// Idle: there was nothing to write.
	Idle Outcome = "Idle"
	// Written: the API server took it.
	Written Outcome = "Written"
	// Held: another manager owns what was to be written. Not an error.
	Held Outcome = "Held"
	// Suspended: a live read found the Wavefront, or a node of the source,
	// suspended (or the Wavefront in Shadow, or on its way out).
	Suspended Outcome = "Suspended"
	// Stale: the source is not what was judged any more. The next pass judges
	// it anew.
	Stale Outcome = "Stale"
	// Gone: the source does not exist any more.
	Gone Outcome = "Gone"
	// NotLeader: the leader lease is not provably ours; nothing was sent.
	NotLeader Outcome = "NotLeader"
	// Failed: see Result.Err.
	Failed Outcome = "Failed"
)

// Result is what became of one write to one source.
type Result struct {
	// Source that was to be written.
	Source fleet.ID
	// Action that was tried; empty where there was nothing to do.
	Action Action
	// Outcome of it.
	Outcome Outcome
	// From and To are the pin before and after. A write that did not change
	// the value is not announced: see Changed.
	From, To fleet.Revision
	// Manager that holds the source, for Held, Share, PutBackHeld and the like.
	Manager string
	// Object is the newest version of the source after the write.
	Object *sourcev1.GitRepository
	// Judgement that a reaction follows from.
	Judgement Judgement
	// Kept is set where a release left the commit in place although it should
	// have dropped it: another manager owns it too, or it is held by hand.
	Kept bool
	// Err is why, for Failed and NotLeader.
	Err error
}

// Changed tells whether the write changed the pin's value: only then is it
// announced and counted.
func (r Result) Changed() bool { return r.Outcome == Written && r.From != r.To }
