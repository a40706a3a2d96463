// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

// ledger is what the passes of the Wavefronts and the reactions to single
// sources tell each other. It holds nothing that a fresh process could not find
// out again.
type ledger struct {
	mu sync.Mutex
	// policies say, by source, which Wavefront has it in scope and whether it
	// may be written, as the last pass saw it.
	policies map[fleet.ID]pin.Policy
	// outcomes of reactions that a pass has still to announce, by Wavefront.
	outcomes map[string][]report.Outcome
	// changed is told of each source whose policy changed.
	changed func(fleet.ID)
}

func newLedger() *ledger {
	return &ledger{policies: map[fleet.ID]pin.Policy{}, outcomes: map[string][]report.Outcome{}}
}

// notify sets who is told of each source whose policy changed.
func (l *ledger) notify(changed func(fleet.ID)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
}

// declare replaces what one Wavefront says about its sources.
func (l *ledger) declare(wavefront string, policies map[fleet.ID]pin.Policy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, p := range l.policies {
		if _, still := policies[id]; p.Owner == wavefront && !still {
			delete(l.policies, id)
		}
	}
	for id, p := range policies {
		// A Wavefront that writes nothing never hides one that does.
		if known, ok := l.policies[id]; ok && known.Owner != wavefront && known.Enforce && !p.Enforce {
			continue
		}
		if l.policies[id] != p && l.changed != nil {
			l.changed(id)
		}
		l.policies[id] = p
	}
}

// forget drops a Wavefront.
func (l *ledger) forget(wavefront string) {
	l.declare(wavefront, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.outcomes, wavefront)
}

// policy returns what applies to a source; zero where nobody has it in scope.
func (l *ledger) policy(source fleet.ID) pin.Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.policies[source]
}

// record keeps the outcome of a reaction until its Wavefront's next pass.
func (l *ledger) record(wavefront string, o report.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[wavefront] = append(l.outcomes[wavefront], o)
}

// take returns the outcomes to announce, once.
func (l *ledger) take(wavefront string) []report.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.outcomes[wavefront]
	delete(l.outcomes, wavefront)
	return taken
}
