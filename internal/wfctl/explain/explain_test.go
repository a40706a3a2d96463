// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func ref(name string) picture.Ref {
	return picture.Ref{Kind: "Kustomization", Namespace: "apps", Name: name}
}

// waiting is a node with a commit that waits for a reason.
func waiting(name string, reason fleet.Reason, by string) picture.Node {
	source := picture.Ref{Kind: "GitRepository", Namespace: "apps", Name: name + "-repo"}
	n := picture.Node{
		Ref: ref(name), Role: "Pinned", State: "Pending", Source: &source,
		Pin: strings.Repeat("a", 40), Observed: strings.Repeat("b", 40),
	}
	if reason != "" {
		n.Blocked = &picture.Block{Reason: string(reason)}
		if by != "" {
			r := ref(by)
			n.Blocked.Ancestor = &r
		}
	}
	return n
}

func explain(p *picture.Picture, name string) Explanation {
	e := Explainer{Picture: p, Now: time.Unix(0, 0), Command: func(args string) string { return "wfctl " + args }}
	return e.Explain(p.Node(ref(name)))
}

func all(e Explanation) string {
	var texts []string
	for _, s := range e.Chain {
		texts = append(texts, s.Object.Path()+" "+s.Text)
	}
	return strings.Join(append(texts, append(e.Fix, e.ToMove)...), "\n")
}

// TestEveryReason: each reason has a sentence and something that helps.
func TestEveryReason(t *testing.T) {
	t.Parallel()
	tests := map[fleet.Reason]struct {
		by   string
		with func(*picture.Picture)
		says []string
	}{
		fleet.AncestorUnhealthy: {"db", func(p *picture.Picture) {
			p.Nodes[1].State, p.Nodes[1].Blocked, p.Nodes[1].Trouble = "Unhealthy", nil, "timeout"
		},
			[]string{"is unhealthy: timeout", "push a fix to the branch of apps/db-repo", "force-admit apps/app-repo"}},
		fleet.AncestorPending: {"db", func(p *picture.Picture) { p.Nodes[1].State, p.Nodes[1].Blocked = "Converging", nil },
			[]string{"is on its way to pin aaaaaaaa", "kubectl -n apps describe kustomization db"}},
		fleet.AncestorHeld: {"db", func(p *picture.Picture) {
			p.Nodes[1].Blocked.Reason, p.Nodes[1].Hold = string(fleet.SelfHeld), &picture.Hold{Reason: "HandPin", Manager: "kubectl-edit"}
		}, []string{"was pinned by hand (kubectl-edit)", "wfctl release apps/db-repo"}},
		fleet.AncestorUnobserved:  {"db", nil, []string{"is listed anew first", "wfctl reconcile"}},
		fleet.AncestorMissing:     {"gone", nil, []string{"does not exist", "create Kustomization/apps/gone"}},
		fleet.AncestorNotEnrolled: {"db", func(p *picture.Picture) { p.Nodes[1].Blocked.Reason = string(fleet.NotEnrolled) }, []string{"paced, ten at a time"}},
		fleet.SelfHeld: {"", func(p *picture.Picture) { p.Nodes[0].Hold = &picture.Hold{Reason: "Suspend"} },
			[]string{"flux -n apps resume source git app-repo"}},
		fleet.SelfUnobserved: {"", func(p *picture.Picture) { p.Nodes[0].ObservationError = `Unauthorized: secret "apps/x"` },
			[]string{"could not be listed", "renew them"}},
		fleet.NotEnrolled:         {"", nil, []string{"has no pin yet", "describe gitrepository app-repo"}},
		fleet.SharedSourceBlocked: {"db", nil, []string{"shares its source with apps/db"}},
		fleet.GraphCycle: {"", func(p *picture.Picture) { p.Cycles = [][]picture.Ref{{ref("x"), ref("y"), ref("x")}} },
			[]string{"apps/x -> apps/y -> apps/x"}},
		fleet.Contested: {"db", nil, []string{"(Kustomization/apps/db)", "spec.nodes.selector"}},
		fleet.Suspended: {"", nil, []string{"wfctl resume"}},
	}
	for reason := range blockSentences {
		tt, ok := tests[reason]
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(ok).To(BeTrue(), "every reason has a test")
			p := &picture.Picture{Nodes: []picture.Node{waiting("app", reason, tt.by), waiting("db", fleet.Suspended, "")}}
			p.Wavefront.Mode = wavefrontv1.ModeEnforce
			if tt.with != nil {
				tt.with(p)
			}
			got := explain(p, "app")
			for _, text := range tt.says {
				g.Expect(all(got)).To(ContainSubstring(text))
			}
			g.Expect(got.Fix).NotTo(BeEmpty())
			g.Expect(got.ToMove).NotTo(BeEmpty())
		})
	}
}

// TestChain: the walk ends at the root, however long, and never runs in circles.
func TestChain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := &picture.Picture{}
	for i := range 500 {
		p.Nodes = append(p.Nodes, waiting(fmt.Sprintf("n%d", i), fleet.AncestorPending, fmt.Sprintf("n%d", i+1)))
	}
	p.Nodes = append(p.Nodes, waiting("n500", "", ""))
	got := explain(p, "n0")
	g.Expect(got.Chain).To(HaveLen(501))
	g.Expect(got.Root).To(Equal(ref("n500")))

	p.Nodes[500] = waiting("n500", fleet.AncestorPending, "n250")
	g.Expect(explain(p, "n0").Chain).To(HaveLen(502))

	p.Wavefront.MembersOmitted = 3
	p.Nodes = p.Nodes[:1]
	g.Expect(all(explain(p, "n0"))).To(ContainSubstring("explain --derive"))
}

func TestEveryListingFault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, kind := range fault.Kinds() {
		if kind == fault.Canceled {
			continue // the process stopped: nobody reads on
		}
		g.Expect(listingFixes).To(HaveKey(kind))
	}
}

// TestConvergingBehind: a node that Flux does not apply leads to the dependency in the way.
func TestConvergingBehind(t *testing.T) {
	t.Parallel()
	gone := picture.Node{Ref: ref("gone"), Role: "Gate", State: "Pending", Trouble: "does not exist"}
	broken := waiting("broken", "", "")
	broken.State, broken.Trouble = "Unhealthy", "timeout"
	moving := waiting("moving", "", "")
	moving.State = "Converging"
	tests := []struct {
		name      string
		dependsOn []string
		ready     bool
		root      string
		says      string
	}{
		{"missing before unhealthy", []string{"broken", "gone"}, false, "gone", "create Kustomization/apps/gone, or remove it from spec.dependsOn of apps/app in Git"},
		{"unhealthy", []string{"moving", "broken"}, false, "broken", "repair what fails in apps/broken"},
		{"moving", []string{"moving"}, false, "app", "describe kustomization app"},
		{"applied", []string{"gone"}, true, "app", "describe kustomization app"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			app := waiting("app", "", "")
			app.State, app.Observed, app.Ready = "Converging", app.Pin, tt.ready
			for _, name := range tt.dependsOn {
				app.DependsOn = append(app.DependsOn, ref(name))
			}
			got := explain(&picture.Picture{Nodes: []picture.Node{app, gone, broken, moving}}, "app")
			g.Expect(got.Root).To(Equal(ref(tt.root)))
			g.Expect(strings.Join(got.Fix, "\n")).To(ContainSubstring(tt.says))
		})
	}
}

// TestMissing: what does not exist is not to be repaired, but to be created.
func TestMissing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	app := waiting("app", fleet.AncestorMissing, "gone")
	app.DependsOn = []picture.Ref{ref("gone")}
	got := explain(&picture.Picture{Nodes: []picture.Node{app, {Ref: ref("gone"), Role: "Gate", State: "Pending", Trouble: "does not exist"}}}, "gone")
	g.Expect(got.Chain).To(HaveLen(1))
	g.Expect(got.Chain[0].Text).To(Equal("does not exist"))
	g.Expect(got.Fix).To(Equal([]string{"create Kustomization/apps/gone, or remove it from spec.dependsOn of apps/app in Git"}))
}

// TestNeverSeen: a source that could never be listed has no commit to go back to, and a new
// one would not be seen either.
func TestNeverSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	n := waiting("app", fleet.NotEnrolled, "")
	n.Pin, n.Observed, n.Trouble = "", "", "ArtifactFailed: Source artifact not found"
	n.ObservationError = "RefMissing: the repository has no refs/heads/nope"
	got := explain(&picture.Picture{Nodes: []picture.Node{n}}, "app")
	g.Expect(got.Chain[0].Text).To(ContainSubstring("could not be listed: RefMissing: the repository has no refs/heads/nope"))
	g.Expect(got.Fix).To(HaveLen(1))
	g.Expect(got.Fix[0]).To(ContainSubstring("GitRepository apps/app-repo: the branch does not exist in the repository: check spec.ref"))
	g.Expect(got.ToMove).To(ContainSubstring("its first pin"))
}

// TestGoBack: the commit to go back to is named where it is known.
func TestGoBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	n := waiting("app", "", "")
	n.State, n.Trouble = "Unhealthy", "timeout"
	p := &picture.Picture{Nodes: []picture.Node{n}, Sources: []picture.Source{{Ref: *n.Source}}}
	g.Expect(explain(p, "app").Fix[0]).To(ContainSubstring("a commit that worked with wfctl pin apps/app-repo --sha SHA"))
	p.Sources[0].Detail = &picture.Detail{PreviousPin: "$(reboot)"}
	g.Expect(explain(p, "app").Fix[0]).To(ContainSubstring("--sha SHA"))
	p.Sources[0].Detail = &picture.Detail{PreviousPin: strings.Repeat("c", 40)}
	g.Expect(explain(p, "app").Fix[0]).To(ContainSubstring("the commit before with wfctl pin apps/app-repo --sha " + strings.Repeat("c", 40)))
}

// TestNothingWaits: what it takes to move, where no commit waits.
func TestNothingWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		with func(*picture.Node)
		says string
	}{
		{"settled", func(n *picture.Node) { n.State = "Settled" }, "a new commit on the branch"},
		{"held", func(n *picture.Node) { n.State, n.Hold = "Settled", &picture.Hold{Reason: "Declared"} }, "first remove spec.ref.commit from the manifest of GitRepository apps/app-repo in Git; then a new commit"},
		{"cycle", func(n *picture.Node) { n.Blocked = &picture.Block{Reason: string(fleet.GraphCycle)} }, "first what is named above has to be repaired; then a new commit"},
		{"gate", func(n *picture.Node) { n.Role, n.State = "Gate", "Settled" }, "wfctl lint says which label or reference"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := waiting("app", "", "")
			n.Observed = n.Pin
			tt.with(&n)
			NewWithT(t).Expect(explain(&picture.Picture{Nodes: []picture.Node{n}}, "app").ToMove).To(ContainSubstring(tt.says))
		})
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	for _, reason := range []fleet.HoldReason{fleet.HandPin, fleet.Declared, fleet.Suspend, fleet.UnsupportedRef} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			n := waiting("app", fleet.SelfHeld, "")
			n.Hold = &picture.Hold{Reason: string(reason), Manager: "somebody"}
			got := explain(&picture.Picture{Nodes: []picture.Node{n}}, "app")
			g.Expect(got.Fix).To(HaveLen(1))
			g.Expect(got.Fix[0]).NotTo(ContainSubstring("see who holds it"))
			if reason == fleet.HandPin {
				g.Expect(got.Fix[0]).To(ContainSubstring("commit bbbbbbbb is then admitted in its turn"), "whoever went back must not be led into the same commit again")
			}
		})
	}
}

// TestHostileNames: what a reference calls an object by is one word of each command.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	n := waiting("web", fleet.NotEnrolled, "")
	n.Source.Name = "$(id)"
	text := all(explain(&picture.Picture{Nodes: []picture.Node{n}}, "web"))
	g.Expect(text).To(ContainSubstring("describe gitrepository '$(id)'"))
	g.Expect(text).To(ContainSubstring("wfctl force-admit 'apps/$(id)'"))

	n.Trouble = "it fails"
	text = all(explain(&picture.Picture{Nodes: []picture.Node{n}}, "web"))
	g.Expect(text).To(ContainSubstring("wfctl pin 'apps/$(id)' --sha SHA"))
}
