// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	oldCommit fleet.Revision = "1111111111111111111111111111111111111111"
	newCommit fleet.Revision = "2222222222222222222222222222222222222222"

	testURL = "https://git.example/team"
	testRef = "refs/heads/main"
	lag     = 2 * time.Second
	stale   = 10 * time.Minute
)

// clock is the time of day of every test.
var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at is a moment, that many seconds into the life of the process.
func at(seconds int) fleet.Instant {
	return fleet.Instant{Seq: uint64(seconds) + 1, At: time.Duration(seconds) * time.Second}
}

// fixture builds an input in which everything is settled unless said otherwise:
// pins were seen at second 10, candidates first at 20, and everything was listed
// at 60; now is 100.
type fixture struct{ in fleet.Input }

func newFixture() *fixture {
	return &fixture{in: fleet.Input{
		Self: fleet.Wavefront{Name: "fleet", Mode: fleet.Enforce, ReplicaLag: lag, StaleAfter: stale},
		Now:  at(100), Clock: clock,
	}}
}

func node(name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindKustomization, Namespace: "flotillas", Name: name}
}

func source(name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: "flotillas", Name: name}
}

// source adds a managed source that is pinned at, and observed at, oldCommit.
func (f *fixture) source(name string, changes ...func(*fleet.Source)) *fixture {
	s := fleet.Source{
		ID: source(name), UID: "uid-" + name, Managed: true, URL: testURL, Ref: testRef,
		Generation: 1, ObservedGeneration: 1, Ready: fleet.Condition{Status: fleet.True, Since: clock.Add(-time.Hour)},
		Artifact: oldCommit, ArtifactAt: clock.Add(-time.Hour), Timeout: time.Minute,
		Pin: oldCommit, PinSeen: at(10), Ours: true, Record: oldCommit, Owner: "fleet", Reconciled: true,
		Observed: observation(oldCommit),
	}
	for _, change := range changes {
		change(&s)
	}
	f.in.Sources = append(f.in.Sources, s)
	return f
}

// observation is one that counts.
func observation(c fleet.Revision) *fleet.Observation {
	return &fleet.Observation{
		URL: testURL, Ref: testRef, Commit: c, Started: at(60), Completed: at(61), First: at(20), FirstAt: clock.Add(-80 * time.Second),
	}
}

// node adds a selected node, healthy at oldCommit.
func (f *fixture) node(name, src string, changes ...func(*fleet.Node)) *fixture {
	n := fleet.Node{
		ID: node(name), UID: "uid-" + name, SelectedBy: []string{"fleet"},
		Generation: 1, ObservedGeneration: 1,
		Ready:       fleet.Condition{Status: fleet.True, Reason: "ReconciliationSucceeded", Since: clock.Add(-time.Minute)},
		Last:        &fleet.Reconciliation{Succeeded: true, Revision: oldCommit, At: clock.Add(-time.Minute)},
		LastApplied: oldCommit, LastAttempted: oldCommit, Timeout: 5 * time.Minute, Confirmed: true,
	}
	if src != "" {
		n.Source = source(src)
	}
	for _, change := range changes {
		change(&n)
	}
	f.in.Nodes = append(f.in.Nodes, n)
	return f
}

// pair adds a source and a node of the same name.
func (f *fixture) pair(name string, changes ...func(*fleet.Node)) *fixture {
	return f.source(name).node(name, name, changes...)
}

// release adds a HelmRelease of a source, applied by a node, that has converged.
func (f *fixture) release(name, src, by string, changes ...func(*fleet.Release)) *fixture {
	r := fleet.Release{
		ID:     fleet.ID{Kind: fleet.KindHelmRelease, Namespace: "apps", Name: name},
		Source: source(src), Generation: 1, ObservedGeneration: 1, LastAttemptedGeneration: 1,
		LastAttemptedRevision: "0.1.0+1111", Ready: fleet.Condition{Status: fleet.True},
		Chart: &fleet.Chart{
			ID:         fleet.ID{Kind: fleet.KindHelmChart, Namespace: "flotillas", Name: "apps-" + name},
			Generation: 1, ObservedGeneration: 1, Ready: fleet.Condition{Status: fleet.True},
			ObservedSource: oldCommit, Version: "0.1.0+1111",
		},
	}
	if by != "" {
		r.AppliedBy = node(by)
	}
	for _, change := range changes {
		change(&r)
	}
	f.in.Releases = append(f.in.Releases, r)
	return f
}

// with changes the input.
func (f *fixture) with(change func(*fleet.Input)) *fixture {
	change(&f.in)
	return f
}

// after makes a node depend on others.
func after(names ...string) func(*fleet.Node) {
	return func(n *fleet.Node) {
		for _, name := range names {
			n.DependsOn = append(n.DependsOn, node(name))
		}
	}
}

// candidate lets the source have one.
func candidate(s *fleet.Source) { s.Observed = observation(newCommit) }

// floating leaves the source unpinned and unmanaged.
func floating(s *fleet.Source) {
	s.Managed, s.Pin, s.Record, s.Ours, s.Owner = false, "", "", false, ""
}

// unpinned leaves a managed source without pin and record.
func unpinned(s *fleet.Source) { s.Pin, s.Record, s.Ours, s.Owner = "", "", false, "" }

// failing makes a node's last reconciliation fail.
func failing(n *fleet.Node) {
	n.Ready = fleet.Condition{Status: fleet.False, Reason: "HealthCheckFailed", Message: "timeout waiting for: Deployment", ObservedGeneration: 1, Since: clock.Add(-time.Minute)}
	n.Last = &fleet.Reconciliation{Revision: oldCommit, At: clock.Add(-time.Minute)}
}

// progressing makes a node be on its way to its pin.
func progressing(n *fleet.Node) {
	n.LastApplied, n.LastAttempted = newCommit, newCommit
	n.Last = &fleet.Reconciliation{Succeeded: true, Revision: newCommit, At: clock.Add(-time.Minute)}
}

// unselected takes a node out of the selector.
func unselected(n *fleet.Node) { n.SelectedBy = nil }

// suspendNode suspends a node; its generation moves and nobody observes it.
func suspendNode(n *fleet.Node) { n.Suspended, n.Generation = true, 2 }

// evaluated is an evaluation with look-ups by name.
type evaluated struct{ fleet.Evaluation }

func (f *fixture) evaluate() evaluated { return evaluated{fleet.Evaluate(f.in)} }

func (e evaluated) node(name string) fleet.NodeResult {
	for _, n := range e.Nodes {
		if n.ID == node(name) {
			return n
		}
	}
	return fleet.NodeResult{}
}

func (e evaluated) source(name string) fleet.SourceResult {
	for _, s := range e.Sources {
		if s.ID == source(name) {
			return s
		}
	}
	return fleet.SourceResult{}
}

// move returns the kind and target of the source's move; empty if it has none.
func (e evaluated) move(name string) (fleet.MoveKind, fleet.Revision) {
	for _, m := range e.Moves {
		if m.Source == source(name) {
			return m.Kind, m.To
		}
	}
	return "", ""
}

// blocked is why a node waits, as "Reason name-of-ancestor".
func (e evaluated) blocked(name string) string {
	b := e.node(name).Blocked
	if b == nil {
		return ""
	}
	if b.Ancestor.IsZero() {
		return string(b.Reason)
	}
	return string(b.Reason) + " " + b.Ancestor.Name
}
