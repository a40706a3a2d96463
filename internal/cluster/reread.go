// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Reread returns a copy of the snapshot in which everything that decides whether
// the nodes are settled is read from live: their Kustomizations and sources,
// the HelmReleases that they applied (those that no cache has seen yet too) or
// whose chart comes from their sources, and the HelmCharts of these. What is
// gone by now is gone from the copy.
func (s *Snapshot) Reread(ctx context.Context, live client.Reader, nodes []fleet.ID) (*Snapshot, error) {
	fresh := *s
	fresh.Kustomizations = slices.Clone(s.Kustomizations)
	fresh.GitRepositories = slices.Clone(s.GitRepositories)
	fresh.HelmReleases = slices.Clone(s.HelmReleases)
	fresh.HelmCharts = slices.Clone(s.HelmCharts)
	for _, node := range nodes {
		if err := fresh.rereadNode(ctx, live, node); err != nil {
			return nil, err
		}
	}
	return &fresh, nil
}

func (s *Snapshot) rereadNode(ctx context.Context, live client.Reader, node fleet.ID) error {
	k := &kustomizev1.Kustomization{}
	if err := reread(ctx, live, &s.Kustomizations, k, key(node)); err != nil {
		return err
	}
	source := Node(k, s.NoCrossNamespaceRefs).Source
	if !source.IsZero() {
		if err := reread(ctx, live, &s.GitRepositories, &sourcev1.GitRepository{}, key(source)); err != nil {
			return err
		}
	}
	return s.rereadReleases(ctx, live, node, source)
}

// rereadReleases takes the node's own releases from the server by label, and
// reads those that others applied, or nobody, but whose chart comes from the
// source.
func (s *Snapshot) rereadReleases(ctx context.Context, live client.Reader, node, source fleet.ID) error {
	own := &helmv2.HelmReleaseList{}
	err := list(ctx, live, own, "HelmReleases", client.MatchingLabels{
		appliedByNameLabel: node.Name, appliedByNamespaceLabel: node.Namespace,
	})
	if notInstalled(err) {
		s.HelmReleases, s.HelmCharts = nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	s.HelmReleases = slices.DeleteFunc(s.HelmReleases, func(hr *helmv2.HelmRelease) bool {
		return appliedBy(hr) == node
	})
	var others []types.NamespacedName
	charts := s.charts()
	for _, hr := range s.HelmReleases {
		if from, _ := chartOf(hr, charts); from == source && !source.IsZero() {
			others = append(others, client.ObjectKeyFromObject(hr))
		}
	}
	s.HelmReleases = append(s.HelmReleases, pointers(own.Items)...)
	for _, other := range others {
		if err := reread(ctx, live, &s.HelmReleases, &helmv2.HelmRelease{}, other); err != nil {
			return err
		}
	}
	return s.rereadCharts(ctx, live, node, source)
}

func (s *Snapshot) rereadCharts(ctx context.Context, live client.Reader, node, source fleet.ID) error {
	charts := s.charts()
	for _, hr := range s.HelmReleases {
		from, chart := chartOf(hr, charts)
		if appliedBy(hr) != node && (from != source || source.IsZero()) {
			continue
		}
		if chart == nil {
			chart = missingChart(hr)
		}
		if chart == nil {
			continue
		}
		if err := reread(ctx, live, &s.HelmCharts, &sourcev1.HelmChart{}, client.ObjectKeyFromObject(chart)); err != nil {
			return err
		}
	}
	return nil
}

// missingChart names the chart that a release wants and that the snapshot does
// not have; nil where the release wants none.
func missingChart(hr *helmv2.HelmRelease) *sourcev1.HelmChart {
	chart := &sourcev1.HelmChart{}
	switch {
	case hr.Spec.ChartRef != nil && hr.Spec.ChartRef.Kind == sourcev1.HelmChartKind:
		chart.Namespace = or(hr.Spec.ChartRef.Namespace, hr.Namespace)
		chart.Name = hr.Spec.ChartRef.Name
	case hr.Spec.Chart != nil && hr.Spec.Chart.Spec.SourceRef.Kind == sourcev1.GitRepositoryKind:
		chart.Namespace, chart.Name = hr.Spec.Chart.GetNamespace(hr.Namespace), hr.GetHelmChartName()
	default:
		return nil
	}
	return chart
}

// reread replaces the object of that key in the list by the live one, which is
// also left in into. Where it is gone, it leaves the list.
func reread[T client.Object](ctx context.Context, live client.Reader, objects *[]T, into T, key types.NamespacedName) error {
	err := live.Get(ctx, key, into)
	if err != nil && !notInstalled(err) {
		return fmt.Errorf("failed to read %T %q: %w", into, key, err)
	}
	*objects = slices.DeleteFunc(*objects, func(o T) bool { return client.ObjectKeyFromObject(o) == key })
	if err == nil || !apierrors.IsNotFound(err) && !notInstalled(err) {
		*objects = append(*objects, into)
	}
	return nil
}

func key(id fleet.ID) types.NamespacedName {
	return types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
}
