// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestStateOrder: the states are total and in their order; the first that
// applies.
func TestStateOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		f    *fixture
		want fleet.State
	}{
		{"Pending before Unhealthy: a candidate that waits", newFixture().pair("a", progressing).source("x", candidate).node("x", "x", failing, after("a")), fleet.Pending},
		{"Pending before Unhealthy: can't be observed", newFixture().source("x", func(s *fleet.Source) { s.Observed, s.ObservationError = nil, "timeout" }).node("x", "x", failing), fleet.Pending},
		{"Pending before Settled: in a cycle", newFixture().pair("x", after("x")), fleet.Pending},
		{"Pending: a gate behind a cycle", newFixture().pair("a", after("a")).node("x", "", after("a")), fleet.Pending},
		{"Admissible before Unhealthy: the fix", newFixture().source("x", candidate).node("x", "x", failing), fleet.Admissible},
		{"Unhealthy before Settled: its pin can't be written", newFixture().source("x", func(s *fleet.Source) { s.PinFailures = 3 }).node("x", "x"), fleet.Unhealthy},
		{"Settled, whatever its ancestors are", newFixture().pair("a", failing).pair("x", after("a")), fleet.Settled},
		{"Converging: everything else", newFixture().pair("x", progressing), fleet.Converging},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(tt.f.evaluate().node("x").State).To(Equal(tt.want))
		})
	}
	t.Run("Pending: a missing node, which waits for nobody but itself", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		n := newFixture().pair("a", after("x")).evaluate().node("x")
		g.Expect(n.State).To(Equal(fleet.Pending))
		g.Expect(n.Missing).To(BeTrue())
		g.Expect(n.Blocked).To(BeNil())
	})
}

// TestPhase: Blocked if something cannot move without help, else Advancing while
// any node is not settled, else Quiescent.
func TestPhase(t *testing.T) {
	t.Parallel()
	handPin := func(s *fleet.Source) { s.Claim = fleet.ClaimHandPin }
	suspended := func(in *fleet.Input) { in.Self.Suspended = true }
	tests := []struct {
		name string
		f    *fixture
		want fleet.Phase
	}{
		{"an empty fleet", newFixture(), fleet.Quiescent},
		{"all settled", newFixture().pair("x"), fleet.Quiescent},
		{"held at the head", newFixture().source("x", handPin).node("x", "x"), fleet.Quiescent},
		{"converging", newFixture().pair("x", progressing), fleet.Advancing},
		{"admissible", newFixture().source("x", candidate).node("x", "x"), fleet.Advancing},
		{"waiting for one that converges", newFixture().pair("a", progressing).source("x", candidate).node("x", "x", after("a")), fleet.Advancing},
		{"unhealthy", newFixture().pair("x", failing), fleet.Blocked},
		{"unhealthy, with an admissible candidate of its own", newFixture().source("x", candidate).node("x", "x", failing), fleet.Advancing},
		{"unhealthy, with a candidate that waits", newFixture().pair("a", progressing).source("x", candidate).node("x", "x", failing, after("a")), fleet.Blocked},
		{"an unhealthy gate", newFixture().pair("x").node("g", "", failing), fleet.Blocked},
		{"missing", newFixture().pair("x", after("gone")), fleet.Blocked},
		{"cyclic", newFixture().pair("x", after("x")), fleet.Blocked},
		{"held with a candidate", newFixture().source("x", handPin, candidate).node("x", "x"), fleet.Blocked},
		{"can't be observed", newFixture().source("x", func(s *fleet.Source) { s.Observed, s.ObservationError = nil, "timeout" }).node("x", "x"), fleet.Blocked},
		{"its listing is on its way", newFixture().source("x", func(s *fleet.Source) { s.Observed = nil }).node("x", "x"), fleet.Advancing},
		{"suspend changes nothing: admissible", newFixture().with(suspended).source("x", candidate).node("x", "x"), fleet.Advancing},
		{"suspend changes nothing: a fix", newFixture().with(suspended).source("x", candidate).node("x", "x", failing), fleet.Advancing},
		{"suspend changes nothing: unhealthy", newFixture().with(suspended).pair("x", failing), fleet.Blocked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(tt.f.evaluate().Phase).To(Equal(tt.want))
		})
	}
}

// TestCounts: states partition the nodes; unhealthy, held and blocked overlap
// with them.
func TestCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newFixture().pair("settled").pair("converging", progressing).pair("unhealthy", failing).
		source("admissible", candidate).node("admissible", "admissible").
		source("pending", candidate).node("pending", "pending", failing, after("converging", "gone")).
		source("held", func(s *fleet.Source) { s.Suspended = true }).node("held", "held").
		node("gate", "").evaluate()
	g.Expect(e.Counts).To(Equal(fleet.Counts{
		Observed: 8, Pinned: 6, Gates: 2, Settled: 3, Pending: 3, Converging: 1, Unhealthy: 2, Held: 1, Blocked: 1,
	}))
}

// TestReport: what is said of a node and its source.
func TestReport(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newFixture().pair("a", failing).source("x", candidate).node("x", "x", after("a")).node("y", "x", unselected).evaluate()
	x := e.node("x")
	g.Expect(x.Pin).To(Equal(oldCommit))
	g.Expect(x.Candidate).To(Equal(newCommit))
	g.Expect(x.Observed).To(Equal(newCommit))
	g.Expect(x.PendingSince).To(Equal(clock.Add(-80 * time.Second)))
	g.Expect(x.Source).To(Equal(source("x")))
	g.Expect(x.Ready).To(BeTrue())
	g.Expect(x.Timeout).To(Equal(5 * time.Minute))
	g.Expect([]bool{x.Settled, x.Full, x.Gate}).To(Equal([]bool{false, false, false}))
	g.Expect(e.node("a").Trouble).To(Equal(`Kustomization "flotillas/a" is not ready: HealthCheckFailed: timeout waiting for: Deployment`))
	s := e.source("x")
	g.Expect(names(s.Nodes)).To(Equal([]string{"x", "y"}))
	g.Expect(s.Blocked).To(Equal(&fleet.Blocker{Reason: fleet.AncestorUnhealthy, Ancestor: node("a")}))
	g.Expect(s.Pending).To(BeTrue())
	g.Expect(s.Admissible).To(BeFalse())
}

// TestTrouble: a sentence, cut to something sensible.
func TestTrouble(t *testing.T) {
	t.Parallel()
	long := ""
	for range 60 {
		long += "größer "
	}
	tests := []struct {
		name    string
		f       *fixture
		trouble string
	}{
		{"only the first line", newFixture().pair("x", failing, func(n *fleet.Node) { n.Ready.Message = "first\nsecond" }),
			`Kustomization "flotillas/x" is not ready: HealthCheckFailed: first`},
		{"no message", newFixture().pair("x", failing, func(n *fleet.Node) { n.Ready.Message = "" }),
			`Kustomization "flotillas/x" is not ready: HealthCheckFailed`},
		{"no reason", newFixture().pair("x", failing, func(n *fleet.Node) { n.Ready.Reason = "" }),
			`Kustomization "flotillas/x" is not ready: timeout waiting for: Deployment`},
		{"while it is tried again", newFixture().pair("x", failing, func(n *fleet.Node) { n.Ready = condition(fleet.Unknown, "Progressing", time.Second) }),
			`Kustomization "flotillas/x" failed at its last reconciliation`},
		{"the pin can't be fetched", newFixture().source("x", func(s *fleet.Source) {
			s.FetchFailed, s.Artifact, s.Ready = true, newCommit, fleet.Condition{Status: fleet.False, Reason: "GitOperationFailed", Message: "object not found"}
		}).node("x", "x"), `GitRepository "flotillas/x" can't fetch its pinned commit: GitOperationFailed: object not found`},
		{"the pin can't be written", newFixture().source("x", func(s *fleet.Source) { s.PinFailures = 3 }).node("x", "x"),
			`the pin of GitRepository "flotillas/x" can't be written (failed 3 times running)`},
		{"a release", newFixture().pair("x").release("r", "x", "x", func(r *fleet.Release) {
			r.Ready = fleet.Condition{Status: fleet.False, Reason: "UpgradeFailed", Message: "no"}
		}), `HelmRelease "apps/r" is not ready: UpgradeFailed: no`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(tt.f.evaluate().node("x").Trouble).To(Equal(tt.trouble))
		})
	}
	t.Run("long messages are cut between letters", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		trouble := newFixture().pair("x", failing, func(n *fleet.Node) { n.Ready.Message = long }).evaluate().node("x").Trouble
		g.Expect(len(trouble)).To(BeNumerically("<", 300))
		g.Expect([]byte(trouble)).To(Equal([]byte(string([]rune(trouble)))), "valid UTF-8")
		g.Expect(trouble).To(HaveSuffix("…"))
	})
}

// TestRecheck: the earliest moment at which time alone changes something. The
// evaluation really is another one then, and not a moment earlier.
func TestRecheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		f    *fixture
		want time.Duration
	}{
		{"nothing", newFixture().node("x", ""), 0},
		{"an observation grows stale", newFixture().pair("x"), stale - 40*time.Second + 1},
		{"a listing is overdue", newFixture().source("x", func(s *fleet.Source) { s.Observed = nil }).node("x", "x"), stale - 90*time.Second + 1},
		{"history is believed no longer", newFixture().node("x", "", func(n *fleet.Node) { n.Ready = condition(fleet.Unknown, "Progressing", time.Minute) }), 5*time.Minute + 1},
		{"ArtifactFailed becomes bad", newFixture().source("x", floating, func(s *fleet.Source) { s.ArtifactAt = clock.Add(-50 * time.Second) }).
			node("x", "x", func(n *fleet.Node) { n.Ready = condition(fleet.False, "ArtifactFailed", time.Second) }), 10 * time.Second},
		{"an initial pin is set aside", newFixture().source("x", func(s *fleet.Source) {
			s.Initial, s.Reconciled, s.PinnedAt = true, false, clock.Add(-20*time.Second)
		}).node("x", "x"), 40 * time.Second},
		{"what Git renders never grows stale", newFixture().source("x", func(s *fleet.Source) { s.Claim = fleet.ClaimDeclared }).node("x", "x"), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before := tt.f.evaluate()
			if tt.want == 0 {
				g.Expect(before.Recheck).To(BeZero())
				return
			}
			g.Expect(before.Recheck).To(Equal(tt.want))
			later := func(d time.Duration) evaluated {
				tt.f.in.Now, tt.f.in.Clock = fleet.Instant{Seq: 2000, At: at(100).At + d}, clock.Add(d)
				e := tt.f.evaluate()
				e.Recheck = before.Recheck
				return e
			}
			g.Expect(later(tt.want - 1)).To(Equal(before))
			g.Expect(later(tt.want)).NotTo(Equal(before))
		})
	}
}
