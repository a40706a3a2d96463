// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// TestFindOutsideTheScope: whoever names what is no source in scope, or no node, is told
// what it is.
func TestFindOutsideTheScope(t *testing.T) {
	t.Parallel()
	repo := picture.Ref{Kind: "GitRepository", Namespace: "flotillas", Name: "app"}
	pic := &picture.Picture{Origin: picture.FromStatus, Nodes: []picture.Node{{
		Ref: picture.Ref{Kind: "Kustomization", Namespace: "flotillas", Name: "app"}, Role: "Gate", State: "Settled", Source: &repo,
	}}}
	pic.Wavefront.Name = "fleet"

	g := NewWithT(t)
	_, err := findSource(pic, "flotillas/app")
	g.Expect(err).To(MatchError(ContainSubstring("it is not in scope: what is built from it, flotillas/app, is a gate")))
	_, err = findNode(pic, "flotillas/other")
	g.Expect(err).To(MatchError(ContainSubstring(`it is not in the graph of Wavefront "fleet", which was never evaluated`)))
}

// TestNothingToOrder: a fleet that stands still for want of a label is not praised.
func TestNothingToOrder(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"status", "nodes", "sources", "graph"} {
		g := NewWithT(t)
		r := wfctl(t, fakeClient(empty()), command)
		g.Expect(r.stderr).To(ContainSubstring(`nothing is selected: label Kustomizations as spec.nodes.selector of Wavefront "fleet" says`), command)
		r = wfctl(t, fakeClient(unlabelled()), command)
		g.Expect(r.stderr).To(ContainSubstring("nothing is pinned"), command)
		g.Expect(r.stderr).To(ContainSubstring("`wfctl lint` names what is missing"), command)
		g.Expect(wfctl(t, fakeClient(quiescent()), command).stderr).NotTo(ContainSubstring("nothing is"), command)
	}
}

// TestRoleFor: who lacks a role is told which.
func TestRoleFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	forbidden := func(group, resource string) error {
		return fmt.Errorf("failed to list: %w", apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", nil))
	}
	g.Expect(explainAPI("list Wavefronts", forbidden("wavefront.as-code.io", "wavefronts"))).To(MatchError(ContainSubstring("ask for the ClusterRole wavefront-wfctl-viewer (")))
	g.Expect(explainAPI("read the fleet", forbidden("source.toolkit.fluxcd.io", "gitrepositories"))).To(MatchError(ContainSubstring("ask for the ClusterRole wavefront-wfctl-derive (")))
}

// TestFindingsNotRecorded: what was never looked for is not reported as absent.
func TestFindingsNotRecorded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	snapshot := wfctl(t, fakeClient(quiescent()), "snapshot", "-o", "json").stdout
	blind := strings.Replace(snapshot, `"wavefront": {`, `"findingsUnread": "not permitted", "wavefront": {`, 1)
	g.Expect(blind).NotTo(Equal(snapshot))
	r := wfctlWith(t, nil, blind, []string{"lint", "--from", "-"})
	g.Expect(r.code).To(Equal(ExitError))
	g.Expect(r.stdout).To(BeEmpty())
	g.Expect(r.stderr).To(ContainSubstring("the snapshot holds none: not permitted"))
}

func TestHistoryWithoutMatch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := wfctl(t, fakeClient(quiescent()), "history", "--node", "flotillas/app")
	g.Expect(r.stderr).To(And(ContainSubstring("none of 3 events matches"), ContainSubstring("`wfctl history --source NAMESPACE/NAME`")))
	g.Expect(wfctl(t, fakeClient(quiescent()), "history").stderr).NotTo(ContainSubstring("matches"))
}

func TestMissingDependencyInStatus(t *testing.T) {
	t.Parallel()
	gone := picture.Ref{Kind: "Kustomization", Namespace: "flotillas", Name: "gone"}
	doc := statusOf(&picture.Picture{Nodes: []picture.Node{
		{Ref: picture.Ref{Kind: "Kustomization", Namespace: "flotillas", Name: "app"}, Role: "Pinned", State: "Converging", DependsOn: []picture.Ref{gone}},
		{Ref: gone, Role: "Gate", State: "Pending", Trouble: "does not exist"},
	}})
	NewWithT(t).Expect(doc.Diagnostics).To(ConsistOf(diagnostic{gone, "does not exist; what depends on it: flotillas/app"}))
}
