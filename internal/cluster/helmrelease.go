// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Labels that kustomize-controller puts on everything it applies.
const (
	appliedByNameLabel      = "kustomize.toolkit.fluxcd.io/name"
	appliedByNamespaceLabel = "kustomize.toolkit.fluxcd.io/namespace"
)

// Charts finds a HelmChart by namespace and name; nil if it does not exist.
type Charts func(types.NamespacedName) *sourcev1.HelmChart

// Release returns what the cluster says of one HelmRelease, and false where its
// chart is not built from a GitRepository. With noCrossNamespaceRefs a reference
// into another namespace is refused, as helm-controller refuses it.
func Release(hr *helmv2.HelmRelease, charts Charts, noCrossNamespaceRefs bool) (fleet.Release, bool) {
	source, chart := chartOf(hr, charts)
	if source.IsZero() || (noCrossNamespaceRefs && source.Namespace != hr.Namespace) {
		return fleet.Release{}, false
	}
	r := fleet.Release{
		ID:                      HelmReleaseID(hr.Namespace, hr.Name),
		Source:                  source,
		AppliedBy:               appliedBy(hr),
		DependsOn:               releaseDependencies(hr),
		Suspended:               hr.Spec.Suspend,
		Generation:              hr.Generation,
		ObservedGeneration:      hr.Status.ObservedGeneration,
		LastAttemptedGeneration: hr.Status.LastAttemptedGeneration,
		LastAttemptedRevision:   hr.Status.LastAttemptedRevision,
		Ready:                   ready(hr.Status.Conditions),
	}
	if chart != nil {
		r.Chart = chartFacts(chart)
	}
	return r, true
}

// dependency returns what is to be known of a HelmRelease that another depends on
// while its own chart comes from elsewhere: whose it is. It counts for no source.
func dependency(hr *helmv2.HelmRelease) fleet.Release {
	return fleet.Release{ID: HelmReleaseID(hr.Namespace, hr.Name), AppliedBy: appliedBy(hr)}
}

// HelmReleaseID names a HelmRelease.
func HelmReleaseID(namespace, name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindHelmRelease, Namespace: namespace, Name: name}
}

// chartOf returns the GitRepository that the release's chart is built from, and
// the HelmChart, which may not exist yet. The source is zero where the chart
// comes from elsewhere, or where a referenced chart does not say.
func chartOf(hr *helmv2.HelmRelease, charts Charts) (fleet.ID, *sourcev1.HelmChart) {
	switch {
	case hr.Spec.ChartRef != nil:
		if hr.Spec.ChartRef.Kind != sourcev1.HelmChartKind {
			return fleet.ID{}, nil
		}
		chart := charts(types.NamespacedName{
			Namespace: or(hr.Spec.ChartRef.Namespace, hr.Namespace),
			Name:      hr.Spec.ChartRef.Name,
		})
		return chartSource(chart), chart
	case hr.Spec.Chart != nil:
		ref := hr.Spec.Chart.Spec.SourceRef
		if ref.Kind != sourcev1.GitRepositoryKind {
			return fleet.ID{}, nil
		}
		return GitRepositoryID(or(ref.Namespace, hr.Namespace), ref.Name), generatedChart(hr, charts)
	}
	return fleet.ID{}, nil
}

// generatedChart finds the HelmChart that helm-controller keeps for the release:
// where the present spec puts it, or where the status says that it is.
func generatedChart(hr *helmv2.HelmRelease, charts Charts) *sourcev1.HelmChart {
	chart := charts(types.NamespacedName{
		Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace),
		Name:      hr.GetHelmChartName(),
	})
	if chart != nil {
		return chart
	}
	namespace, name, ok := strings.Cut(hr.Status.HelmChart, string(types.Separator))
	if !ok {
		return nil
	}
	return charts(types.NamespacedName{Namespace: namespace, Name: name})
}

func chartSource(chart *sourcev1.HelmChart) fleet.ID {
	if chart == nil || chart.Spec.SourceRef.Kind != sourcev1.GitRepositoryKind {
		return fleet.ID{}
	}
	return GitRepositoryID(chart.Namespace, chart.Spec.SourceRef.Name)
}

func chartFacts(chart *sourcev1.HelmChart) *fleet.Chart {
	c := &fleet.Chart{
		ID:                 fleet.ID{Kind: fleet.KindHelmChart, Namespace: chart.Namespace, Name: chart.Name},
		Generation:         chart.Generation,
		ObservedGeneration: chart.Status.ObservedGeneration,
		Ready:              ready(chart.Status.Conditions),
		ObservedSource:     Revision(chart.Status.ObservedSourceArtifactRevision),
	}
	if chart.Status.Artifact != nil {
		c.Version = chart.Status.Artifact.Revision
	}
	return c
}

func appliedBy(hr *helmv2.HelmRelease) fleet.ID {
	name, namespace := hr.Labels[appliedByNameLabel], hr.Labels[appliedByNamespaceLabel]
	if name == "" || namespace == "" {
		return fleet.ID{}
	}
	return KustomizationID(namespace, name)
}

func releaseDependencies(hr *helmv2.HelmRelease) []fleet.ID {
	if len(hr.Spec.DependsOn) == 0 {
		return nil
	}
	ids := make([]fleet.ID, 0, len(hr.Spec.DependsOn))
	for _, d := range hr.Spec.DependsOn {
		ids = append(ids, HelmReleaseID(or(d.Namespace, hr.Namespace), d.Name))
	}
	return ids
}
