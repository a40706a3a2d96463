// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	declarative = "kustomize-controller"
	// settleTime is how long a declarative applier must have owned a pin
	// before Git counts as its author.
	settleTime = 10 * time.Second
)

// tracked is what a process has seen of a source's pin.
type tracked struct {
	newest gitRepository
	number int
	// since is when the pin became what it is now.
	since fleet.Instant
	// first are the foreign managers under which the value was first seen.
	first []string
	owned time.Duration
	// vanished is a pin that was seen to go.
	vanished fleet.Revision
	before   gitRepository
	wasHand  bool
	virtual  fleet.Revision
}

func newTracked(now fleet.Instant, started time.Duration, v *version[gitRepository]) tracked {
	return tracked{newest: v.value, number: v.number, since: now, first: v.value.foreign, owned: v.value.claimedAt - started}
}

// observe takes a version in, unless a newer one is known, and tells whether the
// pin changed.
func (t *tracked) observe(now fleet.Instant, settle time.Duration, v *version[gitRepository]) bool {
	if v.number <= t.number {
		return false
	}
	old := t.newest
	claim, _ := t.claim(now.At, settle)
	t.newest, t.number = v.value, v.number
	changed := old.commit != v.value.commit
	if changed {
		t.since, t.first = now, v.value.foreign
		if v.value.commit == "" {
			t.vanished, t.before, t.wasHand = old.commit, old, claim == fleet.ClaimHandPin
		} else {
			t.vanished = ""
		}
	}
	if len(old.foreign) == 0 {
		t.first = v.value.foreign
	}
	if !slices.Equal(old.foreign, v.value.foreign) {
		t.owned = now.At
	}
	return changed
}

// held tells whether a hold stands for the present value.
func (s *gitRepository) held() bool {
	return s.heldBy != "" && s.record.Same(s.commit)
}

// claim judges whose the pin is.
func (t *tracked) claim(now, settle time.Duration) (fleet.Claim, string) {
	s := &t.newest
	switch {
	case s.commit == "":
		return fleet.ClaimNone, ""
	case s.held():
		return fleet.ClaimHandPin, s.heldBy
	case len(s.foreign) == 0 && (s.ours || s.record.Same(s.commit)):
		return fleet.ClaimNone, ""
	case len(s.foreign) == 0:
		return fleet.ClaimHandPin, "unknown"
	}
	for _, m := range slices.Concat(s.foreign, t.first) {
		if m != declarative {
			return fleet.ClaimHandPin, m
		}
	}
	if now-t.owned <= settle {
		return fleet.ClaimHandPin, declarative
	}
	return fleet.ClaimDeclared, declarative
}

// react writes what must be written at once: a hand-pin is shared, a declared
// one given up, the record follows, and a pin that vanished is put back.
func (p *process) react() {
	for i := range p.tracked {
		t := &p.tracked[i]
		enforced := !p.w.shadow && !p.w.suspended && t.newest.managed && p.inScope(i)
		if !enforced {
			t.vanished = "" // nobody watches over it
		}
		if p.writing[i] {
			continue
		}
		name, change := t.reaction(p.w.now-p.started, &p.w.options)
		if p.ownership != nil {
			name, change = p.reactTo(i, enforced)
		}
		if change != nil && enforced {
			p.write(i, name, func(s *gitRepository) bool { change(s); return true })
		}
	}
}

// inScope tells whether a selected node is built from the source.
func (p *process) inScope(source int) bool {
	for i := range p.w.nodes {
		n := &p.w.nodes[i].asOf(p.shown[kustomizations]).value
		if n.exists && n.selected && n.source == source {
			return true
		}
	}
	return false
}

// reaction is what a source calls for; nothing if all is well.
func (t *tracked) reaction(now time.Duration, o *Options) (string, func(*gitRepository)) {
	s := &t.newest
	if s.commit == "" {
		return t.restoration(o)
	}
	claim, manager := t.claim(now, o.settle())
	switch {
	case claim == fleet.ClaimHandPin && o.SkipHolds:
		return "", nil
	case claim == fleet.ClaimHandPin && manager == declarative && !s.held():
		if !s.ours && !s.record.Same(s.commit) {
			return "follows", func(s *gitRepository) { s.record, s.heldBy, s.owner = s.commit, "", wavefrontName }
		}
	case claim == fleet.ClaimHandPin && (!s.ours || !s.held()):
		return "shares", func(s *gitRepository) {
			s.ours, s.record, s.heldBy, s.owner, s.initial = true, s.commit, manager, wavefrontName, false
		}
	case claim == fleet.ClaimDeclared && (s.ours || s.heldBy != "" || !s.record.Same(s.commit)):
		return "gives up", func(s *gitRepository) {
			s.ours, s.heldBy, s.record, s.owner, s.initial = false, "", s.commit, wavefrontName, false
		}
	case claim == fleet.ClaimNone && (!s.ours || !s.record.Same(s.commit) || s.owner != wavefrontName || s.heldBy != ""):
		return "follows", func(s *gitRepository) { s.ours, s.record, s.owner, s.heldBy = true, s.commit, wavefrontName, "" }
	}
	return "", nil
}

// restoration puts a pin that vanished back: still held if it was a hand-pin that
// was not shared yet.
func (t *tracked) restoration(o *Options) (string, func(*gitRepository)) {
	if t.vanished == "" || o.SkipRestore || (t.newest.record == "" && t.before.record != "") {
		return "", nil
	}
	pin, by := t.vanished, ""
	if t.wasHand && !t.before.ours && !o.SkipHolds {
		by = "somebody"
	} else if t.newest.record == "" {
		return "", nil
	}
	return "puts back", func(s *gitRepository) {
		s.commit, s.ours, s.record, s.owner, s.heldBy = pin, true, pin, wavefrontName, by
	}
}

// move carries the moves out: in Enforce as writes, in Shadow in memory.
func (p *process) move(out *fleet.Evaluation) {
	for _, m := range out.Moves {
		i := number(m.Source)
		if p.w.shadow {
			p.moveVirtually(i, m)
			continue
		}
		if p.writing[i] {
			continue
		}
		decided := p.w.judge.decision(&p.in, m)
		p.write(i, string(m.Kind), func(s *gitRepository) bool {
			if !p.w.options.SkipLiveNodes && p.anySuspended(m.Nodes) {
				return false
			}
			p.w.judge.moved(p, i, m, decided)
			s.commit, s.ours, s.record, s.owner, s.heldBy = m.To, true, m.To, wavefrontName, ""
			s.initial = m.Kind == fleet.Initial
			s.pinnedAt = p.w.now
			return true
		})
	}
}

// moveVirtually keeps a would-be pin.
func (p *process) moveVirtually(i int, m fleet.Move) {
	if t := &p.tracked[i]; t.newest.commit == "" && t.virtual != m.To {
		if m.From != m.To && m.Kind == fleet.Advance {
			p.w.log("s%d would be moved to %s", i, m.To)
		}
		t.virtual, t.since = m.To, p.instant()
		p.w.shadowPins[i] = m.To
		p.forget(i)
	}
}

// anySuspended reads the nodes live.
func (p *process) anySuspended(nodes []fleet.ID) bool {
	return slices.ContainsFunc(nodes, func(id fleet.ID) bool { return p.w.nodes[number(id)].live().value.suspended })
}

// write sends one patch, guarded by the version that was judged. The request may
// be on the wire when the process dies.
func (p *process) write(i int, name string, change func(*gitRepository) bool) {
	p.writing[i] = true
	judged := p.tracked[i].number
	p.w.after(p.dice.between(5*time.Millisecond, 300*time.Millisecond), func() {
		p.writing[i] = false
		live := p.w.sources[i].live()
		if live.number != judged || p.w.shadow || p.w.suspended {
			return
		}
		if !p.alive && p.dice.chance(0.5) {
			return
		}
		before := live.value.commit
		next := live.value
		if !change(&next) {
			return
		}
		if next.commit != before {
			next.generation++
		}
		p.w.log("s%d: controller %s: %q -> %q (record %q, held by %q)", i, name, before, next.commit, next.record, next.heldBy)
		p.w.judge.written(i, before, next.commit, true)
		p.w.updateSource(i, func(s *gitRepository) { *s = next })
		if p.alive {
			p.observe(i, p.w.sources[i].live())
			p.soon(p.dice.between(time.Millisecond, 100*time.Millisecond))
		}
	})
}
