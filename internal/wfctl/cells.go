// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"time"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

// shortLength of a commit in a table.
const shortLength = 8

// short cuts a commit for a table.
func short(commit string) string {
	if len(commit) > shortLength && isHex(commit) {
		return commit[:shortLength]
	}
	return commit
}

func isHex(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

func phaseCell(phase wavefrontv1.Phase) table.Cell {
	switch phase {
	case wavefrontv1.PhaseQuiescent:
		return table.Cell{Text: string(phase), Style: table.Good}
	case wavefrontv1.PhaseBlocked:
		return table.Cell{Text: string(phase), Style: table.Bad}
	case "":
		return table.Cell{Text: picture.Unknown, Style: table.Warn}
	default:
		return table.Cell{Text: string(phase), Style: table.Busy}
	}
}

func suspendedCell(suspended bool) table.Cell {
	if suspended {
		return table.Cell{Text: "yes: no source is moved", Style: table.Warn}
	}
	return table.Cell{Text: "no"}
}

var stateStyles = map[string]table.Style{
	string(wavefrontv1.StateSettled):    table.Good,
	string(wavefrontv1.StateUnhealthy):  table.Bad,
	string(wavefrontv1.StatePending):    table.Warn,
	string(wavefrontv1.StateAdmissible): table.Busy,
	string(wavefrontv1.StateConverging): table.Busy,
}

func stateCell(state string) table.Cell {
	return table.Cell{Text: state, Style: stateStyles[state]}
}

func holdText(h *picture.Hold) string {
	switch {
	case h == nil:
		return ""
	case h.Manager != "":
		return h.Reason + " (" + h.Manager + ")"
	}
	return h.Reason
}

// blockText renders what something waits for, on one line.
func blockText(b *picture.Block) string {
	switch {
	case b == nil:
		return ""
	case b.Ancestor != nil:
		return b.Reason + " " + b.Ancestor.Path()
	}
	return b.Reason
}

func ancestor(r *picture.Ref) string {
	if r == nil {
		return ""
	}
	return r.Path()
}

func since(now time.Time, b picture.Block) string {
	if b.Since == nil {
		return ""
	}
	return age(now, b.Since.Time)
}

// observedText renders an observed commit; pinned things have one to be seen.
func observedText(pinned bool, observed string) string {
	if pinned && observed == "" {
		return picture.Unknown
	}
	return short(observed)
}

// lagText renders how long a commit has waited.
func lagText(now time.Time, pinned bool, n picture.Node) string {
	switch {
	case !pinned:
		return ""
	case n.Observed == "":
		return picture.Unknown
	case n.Pending() == "" || n.PendingSince == nil:
		return "0s"
	}
	return age(now, n.PendingSince.Time)
}
