// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Result of an attempt to write, as label of wavefront_admissions_total.
type Result string

const (
	// Advanced: the candidate was admitted (fleet.Advance).
	Advanced Result = "advanced"
	// Initial: the source was pinned for the first time (fleet.Initial).
	Initial Result = "initial"
	// Restored: a pin that had vanished was put back (fleet.Restore).
	Restored Result = "restored"
	// Failed: the pin could not be written; Outcome.Err says why.
	Failed Result = "failed"
	// Conflicted: another manager owns the commit. That is a hold, not an
	// error: it is counted here and announced once the evaluation sees it.
	Conflicted Result = "held"
	// Kept: the source was released and keeps its commit.
	Kept Result = "kept"
	// Released: the source was released and follows its branch again.
	Released Result = "released"

	// shadowed: an advance was announced in Shadow.
	shadowed Result = "shadow"
)

// Outcome is what came of one attempt to write a source. An attempt that was
// not made, or that changed nothing, has no outcome.
type Outcome struct {
	// Result of the attempt.
	Result Result
	// Source that was to be written.
	Source fleet.ID
	// UID of the source; where it is empty, the evaluation's is used.
	UID string
	// From is the pin before, To the pin after the attempt (or the one that
	// could not be written); empty for none. For Kept and Released, From is the
	// commit that was kept or dropped.
	From, To fleet.Revision
	// VoidRecord says that a recorded pin could not be used: an Initial pin
	// then is a Warning.
	VoidRecord bool
	// Err is the cause of Failed. It must be free of secrets.
	Err error
}

// OutcomeOf returns the outcome of a move that was written (err is nil) or
// failed.
func OutcomeOf(m fleet.Move, err error) Outcome {
	o := Outcome{Source: m.Source, From: m.From, To: m.To, VoidRecord: m.VoidRecord, Err: err}
	switch {
	case err != nil:
		o.Result = Failed
	case m.Kind == fleet.Initial:
		o.Result = Initial
	case m.Kind == fleet.Restore:
		o.Result = Restored
	default:
		o.Result = Advanced
	}
	return o
}
