// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"slices"
	"strings"
	"sync"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Virtual keeps the would-be pins of Wavefronts in Shadow. It is safe for
// concurrent use.
type Virtual struct {
	now func() fleet.Instant

	mu         sync.Mutex
	wavefronts map[string]*virtualPins
}

type virtualPins struct {
	// seed are pins from the status whose source has not been met yet.
	seed map[string]fleet.Revision
	pins map[fleet.ID]virtualPin
}

type virtualPin struct {
	uid      string
	url, ref string
	commit   fleet.Revision
	seen     fleet.Instant
}

// NewVirtual returns a Virtual without pins.
func NewVirtual(now func() fleet.Instant) *Virtual {
	return &Virtual{now: now, wavefronts: map[string]*virtualPins{}}
}

// Seed reads the pins back that an earlier process left in the status. It does
// nothing where the Wavefront has virtual pins already.
func (v *Virtual) Seed(wavefront string, pins []wavefrontv1.ShadowPin) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wavefronts[wavefront] != nil {
		return
	}
	p := &virtualPins{seed: map[string]fleet.Revision{}, pins: map[fleet.ID]virtualPin{}}
	for _, pin := range pins {
		if commit := fleet.Commit(pin.Commit); isCommit(commit) {
			p.seed[pin.Source] = commit
		}
	}
	v.wavefronts[wavefront] = p
}

// Annotate sets the virtual pin of a managed source without a real one, and since
// when it has been what it is. Where there is none it is the artifact's commit
// from now on, under the same conditions as a real initial pin: source-controller
// has observed the present generation and is Ready. A virtual pin made for
// another object, URL or reference is void, and one of a source that carries a
// real pin is dropped.
func (v *Virtual) Annotate(wavefront string, s *fleet.Source) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.wavefronts[wavefront]
	if p == nil {
		p = &virtualPins{pins: map[fleet.ID]virtualPin{}}
		v.wavefronts[wavefront] = p
	}
	if s.Pin != "" || !s.Managed || s.Ref == "" {
		p.drop(s.ID)
		return
	}
	pin := p.pins[s.ID]
	if pin.commit == "" || pin.uid != s.UID || pin.url != s.URL || pin.ref != s.Ref {
		pin = v.assume(p, s)
		p.pins[s.ID] = pin
	}
	s.VirtualPin, s.PinSeen = pin.commit, pin.seen
}

// assume finds the first virtual pin of a source; it has no commit while none can
// be assumed.
func (v *Virtual) assume(p *virtualPins, s *fleet.Source) virtualPin {
	pin := virtualPin{uid: s.UID, url: s.URL, ref: s.Ref}
	seeded, ok := p.seed[sourceKey(s.ID)]
	ready := s.ObservedGeneration == s.Generation && s.Ready.Status == fleet.True
	switch {
	case ok:
		pin.commit = seeded
		delete(p.seed, sourceKey(s.ID))
	case ready:
		pin.commit = s.Artifact
	}
	if pin.commit != "" {
		pin.seen = v.now()
	}
	return pin
}

// Move moves a virtual pin: what a move in Enforce would have done. It tells
// whether the pin changed; only then is it announced.
func (v *Virtual) Move(wavefront string, m fleet.Move) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.wavefronts[wavefront]
	if p == nil {
		return false
	}
	pin, ok := p.pins[m.Source]
	if !ok || pin.commit.Same(m.To) {
		return false
	}
	pin.commit, pin.seen = m.To, v.now()
	p.pins[m.Source] = pin
	return true
}

// Drop forgets all virtual pins of a Wavefront: it enforces, or is gone.
func (v *Virtual) Drop(wavefront string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.wavefronts, wavefront)
}

// Pins returns, for the status, the virtual pins of the sources in scope that
// differ from the artifact, sorted. Pins of sources that are not in the list are
// forgotten.
func (v *Virtual) Pins(wavefront string, sources []fleet.Source) []wavefrontv1.ShadowPin {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.wavefronts[wavefront]
	if p == nil {
		return nil
	}
	present := make(map[fleet.ID]bool, len(sources))
	var pins []wavefrontv1.ShadowPin
	for i := range sources {
		s := &sources[i]
		present[s.ID] = true
		pin := p.pins[s.ID]
		if pin.commit != "" && pin.uid == s.UID && !pin.commit.Same(s.Artifact) {
			pins = append(pins, wavefrontv1.ShadowPin{Source: sourceKey(s.ID), Commit: string(pin.commit)})
		}
	}
	for id := range p.pins {
		if !present[id] {
			delete(p.pins, id)
		}
	}
	slices.SortFunc(pins, func(a, b wavefrontv1.ShadowPin) int { return strings.Compare(a.Source, b.Source) })
	return pins
}

func (p *virtualPins) drop(id fleet.ID) {
	delete(p.pins, id)
	delete(p.seed, sourceKey(id))
}

// sourceKey names a source as status.shadow.pins does.
func sourceKey(id fleet.ID) string { return id.Namespace + "/" + id.Name }
