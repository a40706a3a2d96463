// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/fleet/sim"
)

var mutantRuns = flag.Int("sim.mutant-runs", 3000, "how many schedules a wrong reading of the rules may survive")

// mutant is a wrong reading of the rules, and the invariants that notice it.
type mutant struct {
	name    string
	caught  string
	options sim.Options
	// story is what the schedules are about; anything if empty.
	story []sim.ActionKind
}

// without leaves a clause of the core out.
func without(c fleet.Clause) sim.Options {
	return sim.Options{Evaluate: func(in fleet.Input) fleet.Evaluation { return fleet.EvaluateWithout(in, c) }}
}

// believing lets the core believe something else than what is there.
func believing(change func(*fleet.Input)) sim.Options {
	return sim.Options{Evaluate: func(in fleet.Input) fleet.Evaluation {
		in.Nodes, in.Sources = slices.Clone(in.Nodes), slices.Clone(in.Sources)
		change(&in)
		return fleet.Evaluate(in)
	}}
}

// lastAnswerWins is a history that believes every answer at once.
func lastAnswerWins(h *fleet.History, l fleet.Listing, _ time.Duration) bool {
	return h.Accept(l, 0) || h.Accept(fleet.Listing{
		URL: l.URL, Ref: l.Ref, Commit: l.Commit, At: l.At, Completed: l.Completed,
		Started: fleet.Instant{Seq: l.Started.Seq + 1, At: l.Started.At},
	}, 0)
}

// mutants and what notices them: the table of README.md.
var mutants = []mutant{
	{"the freshness rule is dropped", "a", without(fleet.FreshnessRule), nil},
	{"only direct dependencies gate", "ab", without(fleet.TransitiveRule), nil},
	{"members of a group gate each other", "e", without(fleet.GroupRule), nil},
	{"something pending does not unsettle a node", "ab", without(fleet.PendingRule), nil},
	{"holds are ignored", "d", without(fleet.HoldRule), []sim.ActionKind{sim.ToolPin, sim.SuspendNode, sim.ResumeNode}},
	{"observations from before the pin changed count", "abh", without(fleet.PinSeenRule), []sim.ActionKind{sim.ToolPin, sim.Release}},
	{"charts and releases are ignored", "b", without(fleet.ChartsRule), nil},
	{"a verdict counts whatever revision it is about", "b", without(fleet.AttemptedRule), nil},
	{"what Git renders can be pending", "e", without(fleet.DeclaredRule), nil},
	{"a held source that was never pinned never settles", "e", without(fleet.NeverPinnedRule), nil},
	{"nodes settle without a live read", "b", believing(func(in *fleet.Input) {
		for i := range in.Nodes {
			in.Nodes[i].Confirmed = true
		}
	}), []sim.ActionKind{sim.LatePin, sim.LatePin, sim.Release, sim.Release}},
	{"revisions are compared as strings", "e", believing(asStrings), nil},
	{"replicas are taken not to lag", "abh", sim.Options{NoReplicaLag: true}, []sim.ActionKind{sim.PushBoth, sim.ToolPin, sim.Release}},
	{"the last answer of a git host wins", "h", sim.Options{Accept: lastAnswerWins}, []sim.ActionKind{sim.Push}},
	{"nodes are not read live before a write", "d", sim.Options{SkipLiveNodes: true}, []sim.ActionKind{sim.SuspendNode, sim.ResumeNode}},
	{"hand-pins are not shared with held-by", "d", sim.Options{SkipHolds: true}, []sim.ActionKind{sim.EditPin}},
	{"pins that vanish are not put back", "i", sim.Options{SkipRestore: true}, []sim.ActionKind{sim.EditPin, sim.DropPin}},
	{"a declarative applier is believed at once", "d", sim.Options{DeclaredAtOnce: true}, []sim.ActionKind{sim.EditDuringCrash}},
}

// asStrings lets objects speak of revisions as Flux renders them, while pins and
// observations stay hashes.
func asStrings(in *fleet.Input) {
	for i := range in.Sources {
		if s := &in.Sources[i]; s.Pin != "" && s.Artifact != "" {
			s.Artifact = "main@sha1:" + s.Artifact
		}
	}
	for i := range in.Nodes {
		in.Nodes[i].LastApplied = "main@sha1:" + in.Nodes[i].LastApplied
		in.Nodes[i].LastAttempted = "main@sha1:" + in.Nodes[i].LastAttempted
	}
}

// TestMutants shows that the model is able to fail: every reading with one
// clause dropped violates an invariant.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(*mutantRuns) {
				plan := sim.NewPlan(seed, m.story...)
				v := sim.Run(plan, m.options)
				if v == nil {
					continue
				}
				t.Logf("caught by (%s) at schedule %d", v.Invariant, seed+1)
				if !strings.Contains(m.caught, v.Invariant) {
					t.Errorf("noticed by (%s), want one of (%s):\n%s", v.Invariant, m.caught, sim.Report(plan, m.options))
				}
				return
			}
			t.Errorf("survived %d schedules", *mutantRuns)
		})
	}
}
