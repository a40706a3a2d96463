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
	// policies say, by Wavefront, which sources it has in scope and whether
	// they may be written, as its last pass saw it.
	policies map[string]map[fleet.ID]pin.Policy
	// judged are the Wavefronts that this process has judged at least once.
	judged map[string]bool
	// outcomes of reactions that a pass has still to announce, by Wavefront.
	outcomes map[string][]report.Outcome
	// policyChanged is told of each source whose policy changed, recorded of
	// each Wavefront with outcomes.
	policyChanged func(fleet.ID)
	recorded      func(wavefront string)
}

func newLedger() *ledger {
	return &ledger{
		policies: map[string]map[fleet.ID]pin.Policy{}, judged: map[string]bool{}, outcomes: map[string][]report.Outcome{},
		policyChanged: func(fleet.ID) {}, recorded: func(string) {},
	}
}

// onPolicy sets who is told of each source whose policy changed. It must not
// block.
func (l *ledger) onPolicy(told func(fleet.ID)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.policyChanged = told
}

// onOutcome sets who is told of each Wavefront with outcomes to announce. It must
// not block.
func (l *ledger) onOutcome(told func(wavefront string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recorded = told
}

// declare replaces what one Wavefront says about its sources.
func (l *ledger) declare(wavefront string, policies map[fleet.ID]pin.Policy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.policies[wavefront]
	l.policies[wavefront], l.judged[wavefront] = policies, true
	l.announce(before, policies)
}

// forget drops a Wavefront.
func (l *ledger) forget(wavefront string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.policies[wavefront]
	l.judged[wavefront] = true
	delete(l.policies, wavefront)
	delete(l.outcomes, wavefront)
	l.announce(before, nil)
}

// announce tells of the sources whose policy is another one than before.
func (l *ledger) announce(before, after map[fleet.ID]pin.Policy) {
	for id, p := range after {
		if before[id] != p {
			l.policyChanged(id)
		}
	}
	for id := range before {
		if _, still := after[id]; !still {
			l.policyChanged(id)
		}
	}
}

// policy returns what applies to a source; zero where nobody has it in scope. Of
// several Wavefronts that have it, one that may write counts: one that writes
// nothing never stands in its way. Two that may, which lasts until both have seen
// each other, cancel each other out.
func (l *ledger) policy(source fleet.ID) pin.Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found pin.Policy
	for _, policies := range l.policies {
		p, has := policies[source]
		switch {
		case !has:
		case p.Enforce && found.Enforce:
			return pin.Policy{}
		case found.Owner == "", p.Enforce, !found.Enforce && p.Owner < found.Owner:
			found = p
		}
	}
	return found
}

// awaits tells whether a source that nobody has in scope yet may turn out to be that
// of its owner, which this process has not judged so far.
func (l *ledger) awaits(owner string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return owner != "" && !l.judged[owner]
}

// record keeps the outcome of a reaction until its Wavefront's next pass, and
// asks for that. That of a Wavefront which is gone is nobody's.
func (l *ledger) record(wavefront string, o report.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.policies[wavefront]; !known {
		return
	}
	l.outcomes[wavefront] = append(l.outcomes[wavefront], o)
	l.recorded(wavefront)
}

// take returns the outcomes to announce, once.
func (l *ledger) take(wavefront string) []report.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.outcomes[wavefront]
	delete(l.outcomes, wavefront)
	return taken
}
