// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// oracle says the same as the passes, by walking from every node to all of its
// ancestors: the naive way, which is easy to believe and slow.
type oracle struct {
	parents map[fleet.ID][]fleet.ID
	result  map[fleet.ID]*fleet.NodeResult
	reach   map[fleet.ID]map[fleet.ID]bool // contracted vertices
	pinned  map[fleet.ID]fleet.ID          // node to vertex
}

// newOracle takes settledness and roles from the evaluation, and the edges from
// the input.
func newOracle(in fleet.Input, e fleet.Evaluation) *oracle {
	o := &oracle{
		parents: map[fleet.ID][]fleet.ID{}, result: map[fleet.ID]*fleet.NodeResult{},
		reach: map[fleet.ID]map[fleet.ID]bool{}, pinned: map[fleet.ID]fleet.ID{},
	}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		o.result[n.ID] = n
		o.pinned[n.ID] = n.ID
		if n.Role == fleet.Pinned {
			o.pinned[n.ID] = n.Source
		}
	}
	for i := range in.Nodes {
		if o.result[in.Nodes[i].ID] != nil {
			o.parents[in.Nodes[i].ID] = in.Nodes[i].DependsOn
		}
	}
	next := map[fleet.ID][]fleet.ID{}
	for n, parents := range o.parents {
		for _, p := range parents {
			next[o.pinned[n]] = append(next[o.pinned[n]], o.pinned[p])
		}
	}
	for _, v := range o.pinned {
		o.reach[v] = walk(v, next)
	}
	return o
}

// walk returns everything that can be reached, the start excluded unless it is
// on a cycle.
func walk(from fleet.ID, next map[fleet.ID][]fleet.ID) map[fleet.ID]bool {
	seen := map[fleet.ID]bool{}
	queue := []fleet.ID{from}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, u := range next[v] {
			if !seen[u] {
				seen[u] = true
				queue = append(queue, u)
			}
		}
	}
	return seen
}

// sameGroup tells whether two nodes can only move together.
func (o *oracle) sameGroup(a, b fleet.ID) bool {
	va, vb := o.pinned[a], o.pinned[b]
	return va == vb || (o.reach[va][vb] && o.reach[vb][va])
}

// gates lists the unsettled ancestors outside the group, nearest first.
func (o *oracle) gates(n fleet.ID) []fleet.ID {
	var result []fleet.ID
	distance := map[fleet.ID]int{n: 0}
	queue := []fleet.ID{n}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, p := range o.parents[v] {
			if _, seen := distance[p]; seen {
				continue
			}
			distance[p] = distance[v] + 1
			queue = append(queue, p)
			if !o.result[p].Settled && !o.sameGroup(n, p) {
				result = append(result, p)
			}
		}
	}
	slices.SortFunc(result, func(a, b fleet.ID) int {
		if d := distance[a] - distance[b]; d != 0 {
			return d
		}
		return a.Compare(b)
	})
	return result
}

// check compares an evaluation with what walking says.
func (o *oracle) check() error {
	for id, r := range o.result {
		ancestors := walk(id, o.parents)
		inCycle, behind, full := ancestors[id], false, r.Settled
		for a := range ancestors {
			behind = behind || walk(a, o.parents)[a]
			full = full && o.result[a].Settled
		}
		if r.InCycle != inCycle || r.BehindCycle != (behind && !inCycle) {
			return fmt.Errorf("%s: in cycle %v, behind %v; walking says %v, %v", id, r.InCycle, r.BehindCycle, inCycle, behind)
		}
		if inCycle || behind {
			continue
		}
		gates := o.gates(id)
		if r.Full != full || r.Gate != (len(gates) == 0) {
			return fmt.Errorf("%s: full %v, gate %v; walking says %v, %v", id, r.Full, r.Gate, full, gates)
		}
		if b := r.Blocked; b != nil && r.Selected && named(b.Reason) && len(gates) > 0 && b.Ancestor != gates[0] {
			return fmt.Errorf("%s: blocked by %s; walking says %s", id, b.Ancestor, gates[0])
		}
	}
	return nil
}

// named tells whether the reason names the nearest unsettled ancestor.
func named(r fleet.Reason) bool {
	return slices.Contains([]fleet.Reason{
		fleet.AncestorHeld, fleet.AncestorMissing, fleet.AncestorNotEnrolled, fleet.AncestorPending,
		fleet.AncestorUnhealthy, fleet.AncestorUnobserved,
	}, r)
}

// arbitrary builds any fleet at all out of bytes: edges in all directions,
// missing nodes, shared sources, candidates, holds, gates, two Wavefronts.
func arbitrary(data []byte) fleet.Input {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	f := newFixture().peer("peer", []fleet.Mode{fleet.Enforce, fleet.Shadow}[next()%2])
	sources := 1 + next()%6
	for i := range sources {
		changes := [][]func(*fleet.Source){
			nil, nil, {candidate}, {candidate}, {unpinned}, {floating},
			{func(s *fleet.Source) { s.Suspended = true }}, {func(s *fleet.Source) { s.Observed, s.ObservationError = nil, "timeout" }},
			{func(s *fleet.Source) { s.Observed.Started = at(15) }},
		}
		f.source(name(i), changes[next()%len(changes)]...)
	}
	nodes := next() % 12
	for i := range nodes {
		changes := []func(*fleet.Node){by("fleet"), by("fleet"), by("fleet"), by("peer"), by("fleet", "peer"), unselected, failing, progressing, suspendNode}
		change := changes[next()%len(changes)]
		f.node(name(i), name(next()%(sources+1)), change, func(n *fleet.Node) {
			for range next() % 4 {
				n.DependsOn = append(n.DependsOn, node(name(next()%(nodes+2))))
			}
		})
	}
	return f.in
}

// shuffled is the same input in another order.
func shuffled(in fleet.Input, seed uint64) fleet.Input {
	r := rand.New(rand.NewPCG(seed, seed))
	in.Nodes, in.Sources, in.Releases = slices.Clone(in.Nodes), slices.Clone(in.Sources), slices.Clone(in.Releases)
	r.Shuffle(len(in.Nodes), func(a, b int) { in.Nodes[a], in.Nodes[b] = in.Nodes[b], in.Nodes[a] })
	r.Shuffle(len(in.Sources), func(a, b int) { in.Sources[a], in.Sources[b] = in.Sources[b], in.Sources[a] })
	for i := range in.Nodes {
		n := &in.Nodes[i]
		n.DependsOn = slices.Clone(n.DependsOn)
		r.Shuffle(len(n.DependsOn), func(a, b int) { n.DependsOn[a], n.DependsOn[b] = n.DependsOn[b], n.DependsOn[a] })
	}
	return in
}

// checkAny holds for every fleet: the passes agree with walking, the output does
// not depend on the order of the input, every node has one state and says why it
// waits, and cycles are real.
func checkAny(in fleet.Input) error {
	e := fleet.Evaluate(in)
	if other := fleet.Evaluate(shuffled(in, 7)); !reflect.DeepEqual(e, other) {
		return fmt.Errorf("another order of the input gives another evaluation")
	}
	o := newOracle(in, e)
	if err := o.check(); err != nil {
		return err
	}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		if (n.State == fleet.Pending) != (n.Missing || n.Blocked != nil) {
			return fmt.Errorf("%s is %s, blocked by %v", n.ID, n.State, n.Blocked)
		}
		if i > 0 && e.Nodes[i-1].ID.Compare(n.ID) >= 0 {
			return fmt.Errorf("%s is out of order", n.ID)
		}
	}
	for _, c := range e.Cycles {
		for i := range c[:len(c)-1] {
			if !slices.Contains(o.parents[c[i]], c[i+1]) {
				return fmt.Errorf("%v is no path", c)
			}
		}
		if c[0] != c[len(c)-1] {
			return fmt.Errorf("%v is no cycle", c)
		}
	}
	return nil
}

// TestAgainstWalking compares the passes with the naive way on random fleets.
func TestAgainstWalking(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		data := make([]byte, r.IntN(120))
		for i := range data {
			data[i] = byte(r.UintN(256))
		}
		if err := checkAny(arbitrary(data)); err != nil {
			t.Fatalf("%v: %v", data, err)
		}
	}
}

// FuzzGraph builds graphs out of anything.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 2, 2, 2, 4, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 2, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := checkAny(arbitrary(data)); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzNames builds graphs whose names are anything: equal, empty, of any kind.
func FuzzNames(f *testing.F) {
	f.Add("a", "b", "a", "", true)
	f.Fuzz(func(t *testing.T, a, b, c, namespace string, selected bool) {
		fixture := newFixture()
		for _, n := range []string{a, b, c} {
			fixture.pair(n, func(k *fleet.Node) {
				k.ID.Namespace = namespace
				k.DependsOn = []fleet.ID{{Kind: a, Namespace: b, Name: c}, {Kind: fleet.KindKustomization, Namespace: namespace, Name: b}}
				if !selected {
					k.SelectedBy = []string{b}
				}
			})
		}
		e := fleet.Evaluate(fixture.in)
		for i := range e.Nodes {
			if i > 0 && e.Nodes[i-1].ID.Compare(e.Nodes[i].ID) >= 0 {
				t.Fatalf("%q and %q are out of order", e.Nodes[i-1].ID, e.Nodes[i].ID)
			}
		}
	})
}

// FuzzHistory takes listings in, in any order, and never goes back to a value
// that was replaced unless two listings agree, at least an interval apart.
func FuzzHistory(f *testing.F) {
	f.Add([]byte{1, 2, 1, 1, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		const interval = 90 * time.Second
		var h fleet.History
		replaced := map[fleet.Revision]bool{}
		var current fleet.Revision
		var seen []fleet.Listing
		for i, b := range data {
			l := fleet.Listing{
				URL: testURL, Ref: testRef, Commit: fleet.Revision('a' + rune(b%5)),
				Started: fleet.Instant{Seq: uint64(2*i + 1), At: time.Duration(i) * time.Duration(b/5) * time.Second},
			}
			l.Completed = fleet.Instant{Seq: l.Started.Seq + 1, At: l.Started.At}
			accepted := h.Accept(l, interval)
			if accepted && replaced[l.Commit] && l.Commit != current && !agrees(seen, l, interval) {
				t.Fatalf("listing %d goes back to %s at once", i, l.Commit)
			}
			seen = append(seen, l)
			if accepted && l.Commit != current {
				replaced[current] = true
				current = l.Commit
			}
			if got := h.Latest(testURL, testRef); got.Commit != current {
				t.Fatalf("the latest is %s, want %s", got.Commit, current)
			}
		}
	})
}

// agrees tells whether an earlier listing, at least an interval before, returned
// the same.
func agrees(seen []fleet.Listing, l fleet.Listing, interval time.Duration) bool {
	return slices.ContainsFunc(seen, func(s fleet.Listing) bool {
		return s.Commit == l.Commit && l.Started.After(s.Started, interval)
	})
}
