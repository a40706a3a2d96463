// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

func TestLedgerPolicy(t *testing.T) {
	t.Parallel()
	writes := func(owner string) pin.Policy { return pin.Policy{Owner: owner, Enforce: true} }
	watches := func(owner string) pin.Policy { return pin.Policy{Owner: owner} }
	tests := []struct {
		name     string
		declared []pin.Policy
		want     pin.Policy
	}{
		{name: "nobody's"},
		{name: "one", declared: []pin.Policy{writes("a")}, want: writes("a")},
		{name: "one that writes nothing", declared: []pin.Policy{watches("a")}, want: watches("a")},
		{name: "one that writes nothing hides none that writes", declared: []pin.Policy{watches("a"), writes("b")}, want: writes("b")},
		{name: "nor the other way round", declared: []pin.Policy{writes("a"), watches("b")}, want: writes("a")},
		{name: "two that write nothing", declared: []pin.Policy{watches("b"), watches("a")}, want: watches("a")},
		{name: "two that write", declared: []pin.Policy{writes("a"), writes("b")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l := newLedger()
			for _, p := range tt.declared {
				l.declare(p.Owner, map[fleet.ID]pin.Policy{idOf("repo"): p})
			}
			g.Expect(l.policy(idOf("repo"))).To(Equal(tt.want))
		})
	}
}

// TestLedgerHandsBack: what one Wavefront gives up is the other's at once, without
// waiting for the other's next pass.
func TestLedgerHandsBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLedger()
	var changed []fleet.ID
	l.onPolicy(func(id fleet.ID) { changed = append(changed, id) })
	a, b := pin.Policy{Owner: "a", Enforce: true}, pin.Policy{Owner: "b"}
	l.declare("a", map[fleet.ID]pin.Policy{idOf("repo"): a, idOf("other"): a})
	l.declare("b", map[fleet.ID]pin.Policy{idOf("repo"): b})
	g.Expect(changed).To(ConsistOf(idOf("repo"), idOf("other"), idOf("repo")))

	changed = nil
	l.declare("a", map[fleet.ID]pin.Policy{idOf("repo"): a, idOf("other"): a})
	g.Expect(changed).To(BeEmpty(), "nothing changed")
	l.declare("a", map[fleet.ID]pin.Policy{idOf("other"): a})
	g.Expect(changed).To(ConsistOf(idOf("repo")))
	g.Expect(l.policy(idOf("repo"))).To(Equal(b))

	changed = nil
	l.forget("a")
	g.Expect(changed).To(ConsistOf(idOf("other")))
	g.Expect(l.policy(idOf("other"))).To(BeZero())
}

func TestLedgerOutcomes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLedger()
	var woken []string
	l.onOutcome(func(name string) { woken = append(woken, name) })
	restored := report.Outcome{Result: report.Restored, Source: idOf("repo")}

	l.record("gone", restored)
	g.Expect(l.take("gone")).To(BeEmpty(), "nobody would ever take it")
	l.declare("a", nil)
	l.record("a", restored)
	g.Expect(woken).To(Equal([]string{"a"}))
	g.Expect(l.take("a")).To(Equal([]report.Outcome{restored}))
	g.Expect(l.take("a")).To(BeEmpty())
	l.record("a", restored)
	l.forget("a")
	l.declare("a", nil)
	g.Expect(l.take("a")).To(BeEmpty())
}

// TestLedgerConcurrency has something to show under the race detector.
func TestLedgerConcurrency(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLedger()
	var recorded, taken sync.WaitGroup
	for w := range 4 {
		name := fmt.Sprint("wave-", w)
		l.declare(name, nil)
		recorded.Go(func() {
			for i := range 200 {
				l.declare(name, map[fleet.ID]pin.Policy{idOf(fmt.Sprint(i)): {Owner: name}})
				l.policy(idOf(fmt.Sprint(i - 1)))
				l.record(name, report.Outcome{Source: idOf(fmt.Sprint(i))})
			}
		})
		taken.Go(func() {
			for n := 0; n < 200; {
				n += len(l.take(name))
			}
		})
	}
	recorded.Wait()
	taken.Wait()
	g.Expect(l.outcomes).To(BeEmpty())
}
