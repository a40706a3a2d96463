// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"testing"

	. "github.com/onsi/gomega"

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

func TestMissingDependencyInStatus(t *testing.T) {
	t.Parallel()
	gone := picture.Ref{Kind: "Kustomization", Namespace: "flotillas", Name: "gone"}
	doc := statusOf(&picture.Picture{Nodes: []picture.Node{
		{Ref: picture.Ref{Kind: "Kustomization", Namespace: "flotillas", Name: "app"}, Role: "Pinned", State: "Converging", DependsOn: []picture.Ref{gone}},
		{Ref: gone, Role: "Gate", State: "Pending", Trouble: "does not exist"},
	}})
	NewWithT(t).Expect(doc.Diagnostics).To(ConsistOf(diagnostic{gone, "does not exist; what depends on it: flotillas/app"}))
}
