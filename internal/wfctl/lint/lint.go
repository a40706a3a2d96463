// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"slices"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// Check looks for one kind of trouble.
type Check struct {
	// Name of the check, as findings carry it.
	Name string
	// Severity of its findings.
	Severity picture.Severity
	// Looks says what it looks for, for the reference.
	Looks string
	run   func(*Fleet, report)
}

// report takes a finding in.
type report func(object picture.Ref, why, fix string)

// Fleet is what the checks look at.
type Fleet struct {
	Wavefront  *wavefrontv1.Wavefront
	Evaluation *fleet.Evaluation
	Read       *cluster.Snapshot
	// Other objects, as far as their kinds are installed and may be read.
	HelmRepositories []sourcev1.HelmRepository
	OCIRepositories  []sourcev1.OCIRepository
	Receivers        []notificationv1.Receiver
	Automations      []unstructured.Unstructured
	// Unread names kinds that could not be read, with the reason.
	Unread map[string]string
}

// Checks are all checks, in the order of the reference.
func Checks() []Check {
	return slices.Concat(sourceChecks, nodeChecks, graphChecks, helmChecks, otherChecks)
}

// Run runs all checks. Findings are sorted: errors first, then by check and
// object.
func Run(f *Fleet) []picture.Finding {
	out := []picture.Finding{}
	for _, c := range Checks() {
		c.run(f, func(object picture.Ref, why, fix string) {
			out = append(out, picture.Finding{Severity: c.Severity, Check: c.Name, Object: object, Why: why, Fix: fix})
		})
	}
	slices.SortStableFunc(out, func(a, b picture.Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(a.Check, b.Check), a.Object.Compare(b.Object))
	})
	return out
}

func rank(s picture.Severity) int {
	return slices.Index([]picture.Severity{picture.Error, picture.Warning, picture.Info}, s)
}

// sources calls f with each source in scope and its object.
func (f *Fleet) sources(each func(fleet.SourceResult, *sourcev1.GitRepository)) {
	for _, s := range f.Evaluation.Sources {
		if g := f.Read.GitRepository(s.ID); g != nil {
			each(s, g)
		}
	}
}

// nodes calls f with each node of the graph that exists and its object.
func (f *Fleet) nodes(each func(fleet.NodeResult, *kustomizev1.Kustomization)) {
	for _, n := range f.Evaluation.Nodes {
		if k := f.Read.Kustomization(n.ID); k != nil {
			each(n, k)
		}
	}
}

// pinnedNodes is nodes without gates.
func (f *Fleet) pinnedNodes(each func(fleet.NodeResult, *kustomizev1.Kustomization)) {
	f.nodes(func(n fleet.NodeResult, k *kustomizev1.Kustomization) {
		if n.Role == fleet.Pinned {
			each(n, k)
		}
	})
}

// releases calls f with each HelmRelease that a pinned node applied.
func (f *Fleet) releases(each func(node fleet.ID, hr *helmv2.HelmRelease)) {
	pinned := map[fleet.ID]bool{}
	for _, n := range f.Evaluation.Nodes {
		pinned[n.ID] = n.Role == fleet.Pinned
	}
	for _, hr := range f.Read.HelmReleases {
		node := cluster.KustomizationID(hr.Labels["kustomize.toolkit.fluxcd.io/namespace"], hr.Labels["kustomize.toolkit.fluxcd.io/name"])
		if pinned[node] {
			each(node, hr)
		}
	}
}

// inScope tells whether the source is in scope.
func (f *Fleet) inScope(id fleet.ID) bool {
	return slices.ContainsFunc(f.Evaluation.Sources, func(s fleet.SourceResult) bool { return s.ID == id })
}

func ref(id fleet.ID) picture.Ref {
	return picture.Ref{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func self(f *Fleet) picture.Ref {
	return picture.Ref{Kind: wavefrontv1.WavefrontKind, Name: f.Wavefront.Name}
}

func or(value, def string) string {
	if value == "" {
		return def
	}
	return value
}
