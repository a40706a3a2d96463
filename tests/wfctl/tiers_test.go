// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// expectation says what each tier gets of a command.
type expectation struct {
	args []string
	// viewer, derive and operator: the lowest tier that succeeds.
	from string
	// says is what the data must hold where it succeeds.
	says string
	// below is what the viewer must be told where it succeeds with less.
	below string
}

// readCommands are all commands that read.
func readCommands(f *fixture) map[string]expectation {
	app, ns := path(f, "app"), f.Namespace()
	return map[string]expectation{
		"status":          {args: []string{"status"}, from: viewer, says: ns},
		"status json":     {args: []string{"status", "-o", "json"}, from: viewer, says: `"origin": "Status"`},
		"status derive":   {args: []string{"status", "--derive"}, from: derive, says: "Derived:"},
		"status poll":     {args: []string{"status", "--derive", "--poll"}, from: derive, says: "Derived:"},
		"nodes":           {args: []string{"nodes", "-o", "wide"}, from: viewer, says: app},
		"nodes derive":    {args: []string{"nodes", "--derive"}, from: derive, says: app},
		"sources":         {args: []string{"sources", "-o", "wide"}, from: viewer, says: app, below: "GitRepositories could not be read"},
		"source":          {args: []string{"source", app}, from: viewer, says: "Pin:", below: "GitRepositories could not be read"},
		"explain":         {args: []string{"explain", app}, from: viewer, says: "To move:"},
		"explain derive":  {args: []string{"explain", "--derive", app}, from: derive, says: "To move:"},
		"graph":           {args: []string{"graph"}, from: viewer, says: "Wave 1"},
		"graph tree":      {args: []string{"graph", "--tree"}, from: viewer, says: "└── "},
		"graph svg":       {args: []string{"graph", "-o", "svg"}, from: viewer, says: "<svg"},
		"graph dot":       {args: []string{"graph", "-o", "dot"}, from: viewer, says: "digraph"},
		"graph mermaid":   {args: []string{"graph", "-o", "mermaid"}, from: viewer, says: "flowchart"},
		"history":         {args: []string{"history"}, from: viewer, says: "InitialPin"},
		"history source":  {args: []string{"history", "--source", app, "-o", "json"}, from: viewer, says: `"InitialPin"`},
		"snapshot":        {args: []string{"snapshot"}, from: viewer, says: "kind: Snapshot", below: "is not recorded"},
		"release-set":     {args: []string{"release-set", "--allow-unsettled", "-o", "csv"}, from: viewer, says: "source,url,ref"},
		"lint":            {args: []string{"lint"}, from: derive, says: "remote-bases"},
		"completion":      {args: []string{"__complete", "explain", ""}, from: viewer, says: app},
		"completion flag": {args: []string{"__complete", "status", "--wavefront", ""}, from: viewer, says: ns},
	}
}

// writeCommands are all commands that write, without --yes.
func writeCommands(f *fixture, sha string) map[string][]string {
	app := path(f, "app")
	return map[string][]string{
		"suspend":     {"suspend"},
		"mode":        {"mode", "Shadow"},
		"reconcile":   {"reconcile", "--timeout", "1m"},
		"pin":         {"pin", app, "--sha", sha, "--unverified"},
		"pin-strip":   {"pin-strip"},
		"force-admit": {"force-admit", app, "--sha", sha, "--unverified"},
		"uninstall":   {"uninstall", "--timeout", "1s"},
	}
}

func allows(tier, lowest string) bool {
	tiers := []string{viewer, derive, operator}
	return slices.Index(tiers, tier) >= slices.Index(tiers, lowest)
}

// TestTiersRead runs every command that reads, in each tier, while the fleet
// moves. It runs before the tests that run side by side: it counts every write that
// wfctl makes meanwhile.
func TestTiersRead(t *testing.T) {
	f := newFixture(t, "tiers", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	stop := f.keepMoving("db", "app")
	defer stop()
	mark, err := f.env.AuditLog().Mark()
	f.ok(err)

	for _, tier := range []string{viewer, derive, operator} {
		for name, want := range readCommands(f) {
			t.Run(tier+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				r := f.as(tier, want.args...)
				if !allows(tier, want.from) {
					g.Expect(r.code).To(Equal(1), r.String())
					g.Expect(r.stderr).To(ContainSubstring("not permitted; ask for the ClusterRole wavefront-wfctl-"))
					g.Expect(r.stdout).To(BeEmpty())
					return
				}
				g.Expect(r.code).To(BeElementOf(0, 2), r.String())
				g.Expect(r.stdout).To(ContainSubstring(want.says), r.String())
				if want.below != "" {
					g.Expect(strings.Contains(r.stderr, want.below)).To(Equal(tier == viewer), r.String())
				}
			})
		}
	}
	f.checkNobodyWrote(mark)
}

// keepMoving pushes to the nodes, again and again, until stopped.
func (f *fixture) keepMoving(nodes ...string) (stop func()) {
	ctx, cancel := context.WithCancel(f.ctx)
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			for _, n := range nodes {
				if _, err := f.Push(ctx, n, testfleet.Release{}); err != nil && ctx.Err() == nil {
					f.t.Errorf("failed to push to %s: %v", n, err)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); group.Wait() }
}

// checkNobodyWrote proves from the audit log that commands which read wrote
// nothing but questions about permission and identity.
func (f *fixture) checkNobodyWrote(mark int64) {
	f.t.Helper()
	events, err := f.env.AuditLog().Since(mark)
	f.ok(err)
	seen := 0
	for _, e := range events {
		if !isWfctl(e) {
			continue
		}
		seen++
		f.g.Expect(e.IsWrite()).To(BeFalse(), "%s %s", e.Verb, e.RequestURI)
	}
	f.g.Expect(seen).To(BeNumerically(">", 50), "the audit log must have seen wfctl")
}

func isWfctl(e env.AuditEvent) bool { return strings.HasPrefix(e.UserAgent, "wfctl/") }

// TestTiersWrite runs every command that writes. The lower tiers are refused by
// the API server, whatever wfctl would do; --dry-run and a missing terminal write
// nothing for anybody.
func TestTiersWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "writes", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	other := strings.Repeat("b", 40)
	before := f.app()

	for name, args := range writeCommands(f, other) {
		for _, tier := range []string{viewer, derive} {
			t.Run(tier+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				r := f.as(tier, append(args, "--yes")...)
				g.Expect(r.code).To(Equal(1), r.String())
				g.Expect(r.stderr).To(ContainSubstring("not permitted"), r.String())
			})
		}
		t.Run("operator/"+name, func(t *testing.T) {
			g := NewWithT(t)
			r := f.as(operator, append(args, "--dry-run")...)
			g.Expect(r.code).To(Equal(0), r.String())
			g.Expect(r.stdout).To(HavePrefix("Plan: "))
			r = f.as(operator, args...)
			g.Expect(r.code).To(Equal(1), r.String())
			g.Expect(r.stderr).To(ContainSubstring("there is no terminal"))
		})
	}
	after := f.app()
	f.g.Expect(after.Spec).To(Equal(before.Spec))
	f.g.Expect(after.Annotations).To(Equal(before.Annotations))
}

// TestRolesGrantNothingElse holds the roles to what the commands need.
func TestRolesGrantNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "roles", testfleet.Node{Name: "app"})
	writes := map[string][]string{}
	for _, tier := range []string{viewer, derive, operator} {
		role := &rbacv1.ClusterRole{}
		f.ok(f.env.Client().Get(f.ctx, client.ObjectKey{Name: tier}, role))
		for _, rule := range role.Rules {
			f.g.Expect(rule.Resources).NotTo(ContainElement("secrets"))
			f.g.Expect(append(rule.Resources, rule.Verbs...)).NotTo(ContainElement("*"))
			for _, verb := range rule.Verbs {
				if !slices.Contains([]string{"get", "list", "watch"}, verb) {
					writes[tier] = append(writes[tier], verb+" "+strings.Join(rule.Resources, ","))
				}
			}
		}
	}
	f.g.Expect(writes).To(Equal(map[string][]string{
		operator: {"delete wavefronts", "patch wavefronts", "patch gitrepositories", "patch fluxapps", "create events"},
	}))
}

// TestNames: usage lines show the name that the program was called by.
func TestNames(t *testing.T) {
	t.Parallel()
	for link, name := range map[string]string{
		"wfctl": "wfctl", "kubectl-wavefront": "kubectl wavefront", "flux-wavefront": "flux wavefront",
	} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := call(t.Context(), t, link, "pin", "--help")
			g.Expect(r.code).To(Equal(0))
			g.Expect(r.stdout).To(ContainSubstring(fmt.Sprintf("Usage:\n  %s pin NAMESPACE/NAME --sha SHA", name)))
			g.Expect(r.stdout).To(ContainSubstring(name + " pin flotillas/team-x --sha"))
		})
	}
}

// TestSeveralWavefronts: with several, one has to be named.
func TestSeveralWavefronts(t *testing.T) {
	t.Parallel()
	first := newFixture(t, "several-a", testfleet.Node{Name: "app"})
	first.enforce()
	second := newFixture(t, "several-b", testfleet.Node{Name: "app"})
	second.enforce()
	r := call(first.ctx, t, "wfctl", "--kubeconfig", platform.kubeconfigs[viewer], "status")
	first.g.Expect(r.code).To(Equal(1))
	first.g.Expect(r.stderr).To(And(ContainSubstring("name one with --wavefront"), ContainSubstring(first.Namespace())))
	first.does(viewer, "status")
}

// TestSnapshotReplays: what is recorded can be looked at without the cluster.
func TestSnapshotReplays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "replay", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	file := filepath.Join(t.TempDir(), "snapshot.yaml")
	f.does(operator, "snapshot", "--file", file)
	for _, args := range [][]string{
		{"status"}, {"nodes"}, {"sources"}, {"explain", path(f, "app")}, {"graph"}, {"history"}, {"release-set"}, {"lint"},
	} {
		live := f.does(operator, append(args, "-o", "json")...)
		replayed := call(f.ctx, t, "wfctl", append(args, "-o", "json", "--from", file, "--kubeconfig", "/nonexistent")...)
		f.g.Expect(replayed.code).To(Equal(0), replayed.String())
		if args[0] == "nodes" || args[0] == "sources" || args[0] == "graph" || args[0] == "release-set" {
			f.g.Expect(replayed.stdout).To(MatchJSON(live.stdout), args[0])
		}
	}
}
