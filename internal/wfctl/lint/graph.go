// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

var graphChecks = []Check{
	{"cycle", picture.Error, "cycles of dependsOn", cycles},
	{"missing-dependency", picture.Error, "dependencies that do not exist, or that name a HelmRelease", missingDependency},
	{"overlap", picture.Error, "nodes and sources that several Wavefronts claim", overlap},
	{"suspended-dependency", picture.Warning, "dependencies that are suspended", suspendedDependency},
	{"interleaved", picture.Warning, "sources that can only move together: order inside the group is not guaranteed", interleaved},
}

func cycles(f *Fleet, report report) {
	for _, c := range f.Evaluation.Cycles {
		names := make([]string, len(c))
		for i, id := range c {
			names[i] = id.Namespace + "/" + id.Name
		}
		report(ref(c[0]), "it depends on itself: "+strings.Join(names, " -> ")+"; neither Flux nor the controller can order that",
			"remove one spec.dependsOn of the cycle in Git")
	}
}

func missingDependency(f *Fleet, report report) {
	for _, n := range f.Evaluation.Nodes {
		if !n.Missing {
			continue
		}
		for _, who := range dependents(f, n.ID) {
			if releaseExists(f, n.ID) {
				report(ref(who), fmt.Sprintf("it depends on %s/%s, which is a HelmRelease: a Kustomization can only depend on Kustomizations", n.ID.Namespace, n.ID.Name),
					"depend on the Kustomization that applies the HelmRelease, with wait: true")
				continue
			}
			report(ref(who), fmt.Sprintf("it depends on %s, which does not exist: it and all behind it never move", n.ID),
				"create it, or remove it from spec.dependsOn in Git")
		}
	}
}

func dependents(f *Fleet, id fleet.ID) []fleet.ID {
	var out []fleet.ID
	for _, n := range f.Evaluation.Nodes {
		for _, d := range n.DependsOn {
			if d == id {
				out = append(out, n.ID)
			}
		}
	}
	return out
}

func releaseExists(f *Fleet, id fleet.ID) bool {
	for _, hr := range f.Read.HelmReleases {
		if hr.Namespace == id.Namespace && hr.Name == id.Name {
			return true
		}
	}
	return false
}

func overlap(f *Fleet, report report) {
	for _, o := range f.Evaluation.SelectorOverlaps {
		report(ref(o.Object), fmt.Sprintf("Wavefront %q selects it as well: neither moves it", o.Peer), "change spec.nodes.selector of one of them")
	}
	for _, o := range f.Evaluation.SourceOverlaps {
		report(ref(o.Object), fmt.Sprintf("Wavefront %q has it in scope as well: neither moves it", o.Peer),
			"let all Kustomizations of this source be selected by one Wavefront")
	}
}

func suspendedDependency(f *Fleet, report report) {
	f.nodes(func(n fleet.NodeResult, k *kustomizev1.Kustomization) {
		if k.Spec.Suspend && len(dependents(f, n.ID)) > 0 {
			report(ref(n.ID), fmt.Sprintf("it is suspended, and %d nodes depend on it: they wait as soon as it has something new", len(dependents(f, n.ID))),
				fmt.Sprintf("flux -n %s resume kustomization %s", n.ID.Namespace, n.ID.Name))
		}
	})
}

// onCycle tells whether a node of one of the sources is on a cycle.
func onCycle(f *Fleet, sources []fleet.ID) bool {
	for _, n := range f.Evaluation.Nodes {
		for _, c := range f.Evaluation.Cycles {
			if slices.Contains(c, n.ID) && slices.Contains(sources, n.Source) {
				return true
			}
		}
	}
	return false
}

func interleaved(f *Fleet, report report) {
	for _, group := range f.Evaluation.CoAdmitted {
		if onCycle(f, group) {
			continue // it goes with the cycle, which is reported
		}
		names := make([]string, len(group))
		for i, id := range group {
			names[i] = id.Namespace + "/" + id.Name
		}
		report(ref(group[0]), "nodes of these sources depend on each other in both directions, so they move together: "+strings.Join(names, ", "),
			"split one of the repositories so that dependencies between them point one way")
	}
}
