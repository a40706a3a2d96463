// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// nodeReleases takes in the node's own releases, and reads those that are known beside
// them.
func (r *rereading) nodeReleases(ctx context.Context, node, source fleet.ID, own []*helmv2.HelmRelease) error {
	for _, hr := range own {
		r.releases[client.ObjectKeyFromObject(hr)] = &hr
		if err := r.chartsOf(ctx, hr); err != nil {
			return err
		}
	}
	for _, known := range r.from.releases(node, source) {
		name := client.ObjectKeyFromObject(known)
		if _, read := r.releases[name]; read {
			continue
		}
		hr := &helmv2.HelmRelease{}
		if err := reread(ctx, r.live, r.releases, hr, name); err != nil {
			return err
		}
		if err := r.chartsOf(ctx, hr); err != nil {
			return err
		}
	}
	return nil
}

// appliedReleases lists the releases that carry the labels of the nodes, in one request:
// the API server looks at every release for each. A name that is too long for a label
// is on none, and must not be asked for.
func (r *rereading) appliedReleases(ctx context.Context, nodes []fleet.ID) (map[fleet.ID][]*helmv2.HelmRelease, error) {
	var names []string
	for _, node := range nodes {
		if len(validation.IsValidLabelValue(node.Name)) == 0 {
			names = append(names, node.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	named, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: appliedByNameLabel, Operator: metav1.LabelSelectorOpIn, Values: names,
	}}})
	if err != nil {
		return nil, err
	}
	all := &helmv2.HelmReleaseList{}
	if err := list(ctx, r.live, all, "HelmReleases", client.MatchingLabelsSelector{Selector: named}); err != nil {
		return nil, err
	}
	applied := make(map[fleet.ID][]*helmv2.HelmRelease, len(names))
	for _, hr := range pointers(all.Items) {
		node := appliedBy(hr)
		applied[node] = append(applied[node], hr)
	}
	return applied, nil
}

// chartsOf reads the chart of a release, wherever it may be.
func (r *rereading) chartsOf(ctx context.Context, hr *helmv2.HelmRelease) error {
	names := wantedCharts(hr)
	if _, chart := chartOf(hr, r.from.chart); chart != nil {
		names = append(names, client.ObjectKeyFromObject(chart))
	}
	for _, name := range names {
		if _, read := r.charts[name]; read {
			continue
		}
		if err := reread(ctx, r.live, r.charts, &sourcev1.HelmChart{}, name); err != nil {
			return err
		}
	}
	return nil
}

// wantedCharts names the chart that a release wants, known or not; none where it
// wants no chart from a GitRepository.
func wantedCharts(hr *helmv2.HelmRelease) []types.NamespacedName {
	switch {
	case hr.Spec.ChartRef != nil && hr.Spec.ChartRef.Kind == sourcev1.HelmChartKind:
		return []types.NamespacedName{{
			Namespace: or(hr.Spec.ChartRef.Namespace, hr.Namespace), Name: hr.Spec.ChartRef.Name,
		}}
	case hr.Spec.Chart != nil && hr.Spec.Chart.Spec.SourceRef.Kind == sourcev1.GitRepositoryKind:
		return []types.NamespacedName{{
			Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace), Name: hr.GetHelmChartName(),
		}}
	}
	return nil
}
