// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"slices"
	"time"
)

// Plan is everything that a run depends on.
type Plan struct {
	Seed    uint64
	Sources []SourcePlan
	Nodes   []NodePlan
	Actions []Action
	// Failures lets listings, fetches and applies fail now and then.
	Failures bool
	// OldFlux keeps no history (before Flux 2.7).
	OldFlux bool
	// Shadow is how the Wavefront starts.
	Shadow bool
}

// SourcePlan is one source, with a repository of its own.
type SourcePlan struct {
	Managed bool
	// Frozen sources are suspended before the controller first sees them, and
	// never resumed; of Declared ones Git renders the commit for ever. Both
	// stay where they are.
	Frozen   bool
	Declared bool
	// Slow: a replica of the host lags more than it may.
	Slow bool
}

// still tells whether nobody may move the source.
func (s SourcePlan) still() bool { return s.Frozen || s.Declared }

// NodePlan is one node.
type NodePlan struct {
	// Dropped nodes do not exist: they were not needed to show a violation.
	Dropped  bool
	Selected bool
	// Source is the number of its source; -1 for none.
	Source    int
	DependsOn []int
	// Release: a HelmRelease with its chart in the same repository.
	Release bool
}

// moods are the sets of things that go wrong together in a plan. Few at a time
// find more than all at once.
var moods = [][]ActionKind{
	{},
	{PushBroken, PushBrokenChart},
	{ForcePush, Amend},
	{HostDown, Crash},
	{SuspendNode, ResumeNode, SuspendSource, ResumeSource},
	{SuspendWavefront, FlipMode, DropPin},
	{EditPin, ToolPin, Strip, Release},
	{LatePin, LatePin, ToolPin, Release, Release},
	{EditPin, Strip, FlipMode, Crash},
	{DeclarePin, Release, EditPin},
	{DropPin, Strip, EditPin, SuspendWavefront},
	{EditPin, Strip, EditDuringCrash, Crash},
	{Unselect, Unmanage, AddEdge, RemoveEdge},
	{Crash},
}

// NewPlan makes a random plan; given kinds of actions, one whose story is about
// pushes and those.
func NewPlan(seed uint64, story ...ActionKind) Plan {
	d := newDice(seed, "plan", 0)
	p := Plan{Seed: seed, Failures: d.chance(0.4), OldFlux: d.chance(0.15), Shadow: d.chance(0.1)}
	slow := d.chance(0.1)
	for range 1 + d.IntN(5) {
		p.Sources = append(p.Sources, SourcePlan{
			Managed: !d.chance(0.12), Frozen: d.chance(0.04), Declared: d.chance(0.04), Slow: slow && d.chance(0.5),
		})
	}
	release := d.chance(0.4)
	for i := range len(p.Sources) + d.IntN(4) {
		p.Nodes = append(p.Nodes, newNodePlan(d, i, len(p.Sources), release))
	}
	p.Actions = newActions(d, len(p.Nodes), len(p.Sources), story)
	return p
}

// newNodePlan is a random node: at first one for each source, then siblings and
// gates. Edges lead to nodes with smaller numbers.
func newNodePlan(d dice, i, sources int, release bool) NodePlan {
	n := NodePlan{Selected: !d.chance(0.12), Source: i, Release: release && d.chance(0.5)}
	if i >= sources {
		n.Source = d.IntN(sources+1) - 1
	}
	for p := range i {
		if d.chance(1.3 / float64(i)) {
			n.DependsOn = append(n.DependsOn, p)
		}
	}
	return n
}

// newActions is a random story: mostly pushes, and a mood or two.
func newActions(d dice, nodes, sources int, story []ActionKind) []Action {
	kinds := append([]ActionKind{Push, PushBoth, PushBoth}, story...)
	for i := 1 + d.IntN(2); i > 0 && len(story) == 0; i-- {
		kinds = append(kinds, moods[d.IntN(len(moods))]...)
	}
	var result []Action
	for range 4 + d.IntN(22) {
		result = append(result, Action{
			At:   21*time.Second + time.Duration(d.Float64()*float64(turmoil-21*time.Second)),
			Kind: kinds[d.IntN(len(kinds))],
			On:   d.IntN(nodes * sources),
			With: d.IntN(1000),
		})
	}
	slices.SortStableFunc(result, func(a, b Action) int { return cmp.Compare(a.At, b.At) })
	return result
}
