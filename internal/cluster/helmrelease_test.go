// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestRelease(t *testing.T) {
	t.Parallel()

	type change = func(*helmv2.HelmRelease)
	chartRef := func(kind, namespace, name string) change {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.Chart = nil
			hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: kind, Namespace: namespace, Name: name}
		}
	}
	sourceRef := func(kind, namespace string) change {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.Chart.Spec.SourceRef.Kind, hr.Spec.Chart.Spec.SourceRef.Namespace = kind, namespace
		}
	}
	chart := func(name string) *fleet.Chart {
		return &fleet.Chart{
			ID:         fleet.ID{Kind: fleet.KindHelmChart, Namespace: "apps", Name: name},
			Generation: 3, ObservedGeneration: 3, ObservedSource: fleet.Revision(commitA), Version: "0.1.0+2f60",
		}
	}
	plain := fleet.Release{
		ID: HelmReleaseID("apps", "web"), Source: GitRepositoryID("apps", "repo"),
		AppliedBy: KustomizationID("apps", "app"), Generation: 3,
	}
	tests := []struct {
		name        string
		change      change
		charts      []*sourcev1.HelmChart
		noCrossRefs bool
		none        bool
		expected    func(*fleet.Release)
	}{
		{name: "its chart does not exist yet"},
		{
			name:     "its generated chart",
			charts:   []*sourcev1.HelmChart{aChart("apps-web"), aChart("other")},
			expected: func(r *fleet.Release) { r.Chart = chart("apps-web") },
		},
		{
			name:     "its generated chart where the status says that it is",
			change:   func(hr *helmv2.HelmRelease) { hr.Status.HelmChart = "apps/other" },
			charts:   []*sourcev1.HelmChart{aChart("other")},
			expected: func(r *fleet.Release) { r.Chart = chart("other") },
		},
		{name: "a status that names no chart", change: func(hr *helmv2.HelmRelease) { hr.Status.HelmChart = "x" }},
		{
			name:     "a chart without an artifact",
			charts:   []*sourcev1.HelmChart{aChart("apps-web", func(c *sourcev1.HelmChart) { c.Status.Artifact = nil })},
			expected: func(r *fleet.Release) { r.Chart = chart("apps-web"); r.Chart.Version = "" },
		},
		{
			name:     "a source in another namespace",
			change:   sourceRef("GitRepository", "infra"),
			expected: func(r *fleet.Release) { r.Source = GitRepositoryID("infra", "repo") },
		},
		{name: "which helm-controller refuses", change: sourceRef("GitRepository", "infra"), noCrossRefs: true, none: true},
		{name: "a chart from elsewhere", change: sourceRef("HelmRepository", ""), none: true},
		{
			name:     "a chart of its own",
			change:   chartRef("HelmChart", "", "mine"),
			charts:   []*sourcev1.HelmChart{aChart("mine")},
			expected: func(r *fleet.Release) { r.Chart = chart("mine") },
		},
		{name: "a chart of its own that does not exist", change: chartRef("HelmChart", "", "mine"), none: true},
		{
			name:   "a chart of its own from elsewhere",
			change: chartRef("HelmChart", "", "mine"),
			charts: []*sourcev1.HelmChart{aChart("mine", func(c *sourcev1.HelmChart) { c.Spec.SourceRef.Kind = "HelmRepository" })},
			none:   true,
		},
		{name: "a chart as an OCI artifact", change: chartRef("OCIRepository", "", "mine"), none: true},
		{name: "no chart at all", change: func(hr *helmv2.HelmRelease) { hr.Spec.Chart = nil }, none: true},
		{
			name:     "applied by nobody",
			change:   func(hr *helmv2.HelmRelease) { hr.Labels = nil },
			expected: func(r *fleet.Release) { r.AppliedBy = fleet.ID{} },
		},
		{
			name: "everything else",
			change: func(hr *helmv2.HelmRelease) {
				hr.Spec.Suspend = true
				hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "db"}, {Namespace: "infra", Name: "net"}}
				hr.Status.ObservedGeneration, hr.Status.LastAttemptedGeneration = 2, 1
				hr.Status.LastAttemptedRevision = "0.1.0"
				hr.Status.Conditions = readyCondition(metav1.ConditionTrue)
			},
			expected: func(r *fleet.Release) {
				r.Suspended, r.ObservedGeneration, r.LastAttemptedGeneration = true, 2, 1
				r.LastAttemptedRevision = "0.1.0"
				r.DependsOn = []fleet.ID{HelmReleaseID("apps", "db"), HelmReleaseID("infra", "net")}
				r.Ready = fleet.Condition{Status: fleet.True, Reason: "Reason", Message: "message", ObservedGeneration: 2, Since: base}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hr := aRelease()
			if tt.change != nil {
				tt.change(hr)
			}
			got, ok := Release(hr, (&Snapshot{HelmCharts: tt.charts}).index().chart, tt.noCrossRefs)
			g.Expect(ok).To(Equal(!tt.none))
			want := plain
			if tt.none {
				want = fleet.Release{}
			}
			if tt.expected != nil {
				tt.expected(&want)
			}
			g.Expect(got).To(Equal(want))
		})
	}
}
