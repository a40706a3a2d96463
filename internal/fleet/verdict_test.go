// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// condition is a Ready condition that has stood for a while.
func condition(s fleet.Status, reason string, age time.Duration) fleet.Condition {
	return fleet.Condition{Status: s, Reason: reason, ObservedGeneration: 1, Since: clock.Add(-age)}
}

// entry is a history entry.
func entry(succeeded bool, r fleet.Revision) *fleet.Reconciliation {
	return &fleet.Reconciliation{Succeeded: succeeded, Revision: r, At: clock.Add(-time.Hour)}
}

// TestVerdict: the verdict of a Kustomization comes from the object alone. The
// node's timeout is five minutes, so that an undecided object is judged by its
// history for six.
func TestVerdict(t *testing.T) {
	t.Parallel()
	good, bad := fleet.Good, fleet.Bad
	tests := []struct {
		name   string
		change func(*fleet.Node)
		moved  time.Duration // age of the artifact
		want   fleet.Verdict
	}{
		{name: "Ready True: good", change: func(n *fleet.Node) {}, want: good},
		{name: "Ready False: bad", change: func(n *fleet.Node) { n.Ready = condition(fleet.False, "BuildFailed", time.Second) }, want: bad},
		{name: "False DependencyNotReady: as history says", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.False, "DependencyNotReady", time.Minute)
		}, want: good},
		{name: "False HealthCheckCanceled: as history says", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.False, "HealthCheckCanceled", time.Minute)
		}, want: good},
		{name: "False ArtifactFailed within a minute of the artifact's move: as history says", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.False, "ArtifactFailed", 10*time.Second)
		}, moved: 59 * time.Second, want: good},
		{name: "False ArtifactFailed later: bad", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.False, "ArtifactFailed", 10*time.Second)
		}, moved: time.Minute, want: bad},
		{name: "Ready Unknown: as history says, good", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.Unknown, "Progressing", time.Second)
		}, want: good},
		{name: "Ready Unknown: as history says, bad", change: func(n *fleet.Node) {
			n.Ready, n.Last = condition(fleet.Unknown, "Progressing", time.Second), entry(false, oldCommit)
		}, want: bad},
		{name: "Unknown, history is about another revision", change: func(n *fleet.Node) {
			n.Ready, n.Last = condition(fleet.Unknown, "Progressing", time.Second), entry(true, newCommit)
		}, want: fleet.Undecided},
		{name: "Unknown for the timeout plus a minute", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.Unknown, "Progressing", 6*time.Minute)
		}, want: good},
		{name: "Unknown for longer", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.Unknown, "Progressing", 6*time.Minute+1)
		}, want: fleet.Undecided},
		{name: "waiting for a dependency for longer", change: func(n *fleet.Node) {
			n.Ready = condition(fleet.False, "DependencyNotReady", 6*time.Minute+1)
		}, want: fleet.Undecided},
		{name: "before Flux 2.7: the last verdict of this process", change: func(n *fleet.Node) {
			n.Ready, n.Last, n.Remembered = condition(fleet.Unknown, "Progressing", time.Second), nil, &good
		}, want: good},
		{name: "before Flux 2.7: nothing is remembered at this pin", change: func(n *fleet.Node) {
			n.Ready, n.Last = condition(fleet.Unknown, "Progressing", time.Second), nil
		}, want: fleet.Undecided},
		{name: "memory does not stand against the object's own history", change: func(n *fleet.Node) {
			n.Ready, n.Last, n.Remembered = condition(fleet.Unknown, "Progressing", time.Second), entry(true, newCommit), &good
		}, want: fleet.Undecided},
		{name: "True at an older generation", change: func(n *fleet.Node) { n.Generation = 2 }, want: fleet.Undecided},
		{name: "True at an older generation, suspended", change: suspendNode, want: good},
		{name: "history of an older generation", change: func(n *fleet.Node) {
			n.Generation, n.Ready = 2, condition(fleet.Unknown, "Progressing", time.Second)
		}, want: fleet.Undecided},
		{name: "False at an older generation", change: func(n *fleet.Node) {
			n.Generation, n.Ready = 2, condition(fleet.False, "BuildFailed", time.Second)
		}, want: fleet.Undecided},
		{name: "False at the present generation, which never succeeded", change: func(n *fleet.Node) {
			n.Generation, n.Ready = 2, condition(fleet.False, "BuildFailed", time.Second)
			n.Ready.ObservedGeneration = 2
		}, want: bad},
		{name: "True about another revision", change: func(n *fleet.Node) { n.LastAttempted = newCommit }, want: fleet.Undecided},
		{name: "False about another revision", change: func(n *fleet.Node) {
			n.LastAttempted, n.Ready = newCommit, condition(fleet.False, "BuildFailed", time.Second)
		}, want: fleet.Undecided},
		{name: "no condition at all", change: func(n *fleet.Node) { n.Ready, n.Last = fleet.Condition{}, nil }, want: fleet.Undecided},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := newFixture().source("x", func(s *fleet.Source) { s.ArtifactAt = clock.Add(-tt.moved) }).node("x", "x", tt.change)
			n := f.evaluate().node("x")
			g.Expect(n.Verdict).To(Equal(tt.want))
			g.Expect(n.Unhealthy).To(Equal(tt.want == bad))
		})
	}
}

// TestCharts: everything built as a chart from the artifact is on it.
func TestCharts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*fleet.Release)
		state  fleet.State
	}{
		{"on the artifact and ready", func(r *fleet.Release) {}, fleet.Settled},
		{"there is no chart yet", func(r *fleet.Release) { r.Chart = nil }, fleet.Converging},
		{"the chart has not observed the artifact", func(r *fleet.Release) { r.Chart.ObservedSource = newCommit }, fleet.Converging},
		{"the chart is being built", func(r *fleet.Release) { r.Chart.Ready.Status = fleet.Unknown }, fleet.Converging},
		{"the chart's spec has changed", func(r *fleet.Release) { r.Chart.Generation = 2 }, fleet.Converging},
		{"the chart failed", func(r *fleet.Release) { r.Chart.Ready.Status = fleet.False }, fleet.Unhealthy},
		{"the release has not attempted the chart", func(r *fleet.Release) { r.Chart.Version = "0.1.0+2222" }, fleet.Converging},
		{"the release is upgrading", func(r *fleet.Release) { r.Ready.Status = fleet.Unknown }, fleet.Converging},
		{"its present generation is not observed", func(r *fleet.Release) { r.Generation, r.LastAttemptedGeneration = 2, 2 }, fleet.Converging},
		{"its present generation is not attempted", func(r *fleet.Release) { r.Generation, r.ObservedGeneration = 2, 2 }, fleet.Converging},
		{"the release failed", func(r *fleet.Release) { r.Ready.Status = fleet.False }, fleet.Unhealthy},
		{"it failed at an older generation", func(r *fleet.Release) { r.Ready.Status, r.Generation = fleet.False, 2 }, fleet.Converging},
		{"it waits for a dependency", func(r *fleet.Release) {
			r.Ready = fleet.Condition{Status: fleet.False, Reason: "DependencyNotReady"}
		}, fleet.Converging},
		{"it waits for its chart", func(r *fleet.Release) {
			r.Ready = fleet.Condition{Status: fleet.False, Reason: "SourceNotReady"}
		}, fleet.Converging},
		{"suspended and not behind: generations are ignored", func(r *fleet.Release) { r.Suspended, r.Generation = true, 2 }, fleet.Settled},
		{"suspended and behind", func(r *fleet.Release) { r.Suspended, r.Chart.Version = true, "0.1.0+2222" }, fleet.Converging},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			n := newFixture().pair("x").release("r", "x", "x", tt.change).evaluate().node("x")
			g.Expect(n.State).To(Equal(tt.state), n.Trouble)
		})
	}
}

// TestChartsOfSiblings: a release counts for the node that applied it; one that
// no node of the source applied counts for every node of the source.
func TestChartsOfSiblings(t *testing.T) {
	t.Parallel()
	upgrading := func(r *fleet.Release) { r.Ready.Status = fleet.Unknown }
	tests := []struct {
		name, by string
		x, y     fleet.State
	}{
		{"applied by x", "x", fleet.Converging, fleet.Settled},
		{"applied by y", "y", fleet.Settled, fleet.Converging},
		{"applied by somebody else", "z", fleet.Converging, fleet.Converging},
		{"without labels", "", fleet.Converging, fleet.Converging},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := newFixture().pair("x").node("y", "x").pair("z").release("r", "x", tt.by, upgrading).evaluate()
			g.Expect(e.node("x").State).To(Equal(tt.x))
			g.Expect(e.node("y").State).To(Equal(tt.y))
			g.Expect(e.node("z").State).To(Equal(fleet.Settled))
		})
	}
}

// TestEntangledReleases: a release that waits for one of a node behind its own
// can never be ready first, and the node says so.
func TestEntangledReleases(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	waiting := func(r *fleet.Release) {
		r.Ready = fleet.Condition{Status: fleet.False, Reason: "DependencyNotReady"}
		r.DependsOn = []fleet.ID{{Kind: fleet.KindHelmRelease, Namespace: "apps", Name: "late"}}
	}
	f := newFixture().pair("a").pair("b", after("a")).pair("c", after("b")).pair("d").
		release("early", "a", "a", waiting).release("late", "c", "c").release("other", "d", "d", waiting)
	e := f.evaluate()
	g.Expect(e.node("a").State).To(Equal(fleet.Unhealthy))
	g.Expect(e.node("a").Trouble).To(Equal(`HelmRelease "apps/early" waits for HelmRelease "apps/late", which belongs to Kustomization "flotillas/c", behind this node: it can never be ready first`))
	g.Expect(e.node("d").State).To(Equal(fleet.Converging), "c is not behind d: it may well become ready first")
}

// TestEntangledReleasesInBulk: more of them than one pass asks for.
func TestEntangledReleasesInBulk(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const n = 150
	f := newFixture()
	for i := range n {
		f.pair(name(i), after("root"))
		f.release(name(i), name(i), name(i), func(r *fleet.Release) {
			r.Ready = fleet.Condition{Status: fleet.False, Reason: "DependencyNotReady"}
			r.DependsOn = []fleet.ID{{Kind: fleet.KindHelmRelease, Namespace: "apps", Name: "last"}}
		})
	}
	f.pair("root")
	f.pair("last", func(k *fleet.Node) {
		for i := range n {
			if i%3 != 0 {
				k.DependsOn = append(k.DependsOn, node(name(i)))
			}
		}
	}).release("last", "last", "last")
	e := f.evaluate()
	for i := range n {
		g.Expect(e.node(name(i)).Unhealthy).To(Equal(i%3 != 0), name(i))
	}
}
