// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// longInterval is the least interval of a pinned source that costs little: each
// one clones in full.
const longInterval = 10 * time.Minute

var sourceChecks = []Check{
	{"commit-in-git", picture.Error, "managed sources whose Git renders spec.ref.commit", commitInGit},
	{"unsequenced-ref", picture.Error, "managed sources that follow a tag, semver or another reference than a branch", unsequencedRef},
	{"verify-tag", picture.Error, "spec.verify.mode Tag or TagAndHEAD, which a commit pin stalls", verifyTag},
	{"include", picture.Error, "spec.include: content that changes at the same revision", include},
	{"name-tracking", picture.Warning, "pinned sources that follow spec.ref.name: every interval clones all branches", nameTracking},
	{"short-interval", picture.Warning, "pinned sources with a spec.interval under 10m: every interval clones in full", shortInterval},
	{"unused-source", picture.Warning, "sources with the managed label that no selected node is built from", unusedSource},
}

func commitInGit(f *Fleet, report report) {
	f.sources(func(s fleet.SourceResult, _ *sourcev1.GitRepository) {
		if s.Hold != nil && s.Hold.Reason == fleet.Declared {
			report(ref(s.ID), fmt.Sprintf("Git renders spec.ref.commit (through %s), so the controller never moves it", s.Hold.Manager),
				"remove spec.ref.commit from its manifest in Git, and keep spec.ref.branch")
		}
	})
}

func unsequencedRef(f *Fleet, report report) {
	for _, g := range f.Read.GitRepositories {
		name, style := cluster.TrackingRef(g)
		if cluster.IsManaged(g) && name == "" && usedBySelected(f, g) {
			report(ref(cluster.GitRepositoryID(g.Namespace, g.Name)),
				fmt.Sprintf("it follows %s, which a commit pin can't hold: it is a gate, and its updates are not ordered", style),
				"follow a branch (spec.ref.branch), or take the managed label off to say that this is meant")
		}
	}
}

// usedBySelected tells whether a selected node is built from the source.
func usedBySelected(f *Fleet, g *sourcev1.GitRepository) bool {
	id := cluster.GitRepositoryID(g.Namespace, g.Name)
	for _, k := range selected(f) {
		if cluster.Node(k, f.Read.NoCrossNamespaceRefs).Source == id {
			return true
		}
	}
	return false
}

func verifyTag(f *Fleet, report report) {
	f.sources(func(s fleet.SourceResult, g *sourcev1.GitRepository) {
		if v := g.Spec.Verification; v != nil && strings.HasPrefix(string(v.Mode), "Tag") {
			report(ref(s.ID), fmt.Sprintf("spec.verify.mode %s needs a tag; with a commit pin source-controller stalls (InvalidVerificationMode)", v.Mode),
				"set spec.verify.mode: HEAD in Git")
		}
	})
}

func include(f *Fleet, report report) {
	f.sources(func(s fleet.SourceResult, g *sourcev1.GitRepository) {
		for _, inc := range g.Spec.Include {
			report(ref(s.ID), fmt.Sprintf("spec.include copies GitRepository %q into its artifact: that content changes while the pin stays", inc.GitRepositoryRef.Name),
				"put the included content into the same repository, or give it a Kustomization of its own")
		}
	})
}

func nameTracking(f *Fleet, report report) {
	f.sources(func(s fleet.SourceResult, g *sourcev1.GitRepository) {
		if r := g.Spec.Reference; r != nil && r.Name != "" {
			report(ref(s.ID), "it follows spec.ref.name: with a commit pin source-controller then clones all branches at every interval",
				"follow the same branch with spec.ref.branch in Git: only that branch is cloned")
		}
	})
}

func shortInterval(f *Fleet, report report) {
	f.sources(func(s fleet.SourceResult, g *sourcev1.GitRepository) {
		if g.Spec.Interval.Duration < longInterval {
			report(ref(s.ID), fmt.Sprintf("spec.interval is %s: a pinned source is cloned in full at every interval, changed or not", g.Spec.Interval.Duration),
				"set spec.interval to 1h or more in Git; an advance of the pin reconciles at once anyway")
		}
	})
}

func unusedSource(f *Fleet, report report) {
	for _, g := range f.Read.GitRepositories {
		id := cluster.GitRepositoryID(g.Namespace, g.Name)
		if name, _ := cluster.TrackingRef(g); name != "" && cluster.IsManaged(g) && !f.inScope(id) && !inScopeOfPeer(f, id) {
			report(ref(id), "it carries the managed label, but no Kustomization that the Wavefront selects is built from it: it floats",
				"label its Kustomizations so that spec.nodes.selector matches them, or take the label off")
		}
	}
}

// inScopeOfPeer tells whether another Wavefront selects a node of the source.
func inScopeOfPeer(f *Fleet, id fleet.ID) bool {
	for _, w := range f.Read.Wavefronts {
		selector, err := cluster.Selector(w)
		if err != nil || w.Name == f.Wavefront.Name {
			continue
		}
		for _, k := range matching(f, selector) {
			if cluster.Node(k, f.Read.NoCrossNamespaceRefs).Source == id {
				return true
			}
		}
	}
	return false
}
