// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// View is what an Ownership sees of a version of a source, and may change.
type View struct {
	// Source is its number, Version its resourceVersion.
	Source  int
	Version int
	Facts   fleet.Source
	// Commit is spec.ref.commit; Ours and Foreign are its field managers, and
	// ClaimedAt is when the foreign ones last changed their claims.
	Commit    fleet.Revision
	Ours      bool
	Foreign   []string
	ClaimedAt time.Time
	// Record, Owner and HeldBy are annotations of the controller.
	Record fleet.Revision
	Owner  string
	HeldBy string
}

// Ownership tracks and judges the pins of sources.
type Ownership interface {
	// Observe takes a version in; initial ones come from the first list.
	Observe(v View, initial bool)
	// Judge tells since when the pin has been what it is, and whose it is.
	Judge(v View) (since fleet.Instant, claim fleet.Claim, manager string)
	// React returns the name of what must be written at once and the view as
	// it is to become; an empty name for nothing. Enforced tells whether
	// anything may be written.
	React(v View, enforced bool) (string, View)
}

// view renders a version of a source for an Ownership.
func (p *process) view(i int, v *version[gitRepository]) View {
	s := &v.value
	return View{
		Source: i, Version: v.number, Facts: p.facts(i, s),
		Commit: s.commit, Ours: s.ours, Foreign: s.foreign, ClaimedAt: epoch.Add(s.claimedAt),
		Record: s.record, Owner: s.owner, HeldBy: s.heldBy,
	}
}

// newest is the newest version of a source that the process knows, as a view.
func (p *process) newest(i int) View {
	t := &p.tracked[i]
	return p.view(i, &version[gitRepository]{number: t.number, value: t.newest})
}

// reactTo asks the Ownership what a source calls for.
func (p *process) reactTo(i int, enforced bool) (string, func(*gitRepository)) {
	name, want := p.ownership.React(p.newest(i), enforced)
	if name == "" {
		return "", nil
	}
	return name, func(s *gitRepository) {
		s.commit, s.ours, s.record, s.owner, s.heldBy = want.Commit, want.Ours, want.Record, want.Owner, want.HeldBy
		s.initial = s.initial && want.Commit == s.record && want.HeldBy == ""
	}
}
