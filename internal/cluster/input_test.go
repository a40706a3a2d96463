// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// local marks what it is asked about.
type local struct{}

func (local) AnnotateNode(n *fleet.Node) { n.Confirmed = true }

func (local) AnnotateSource(s *fleet.Source, g *sourcev1.GitRepository) {
	s.Manager = string(g.UID)
}

func TestInput(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := fleet.Instant{Seq: 7, At: time.Minute}
	s := &Snapshot{
		Wavefronts: []*wavefrontv1.Wavefront{
			aWavefront("fleet", func(w *wavefrontv1.Wavefront) {
				w.Spec.Mode, w.Spec.Suspend = wavefrontv1.ModeEnforce, true
			}),
			aWavefront("other", func(w *wavefrontv1.Wavefront) {
				w.Spec.Nodes.Selector.MatchLabels = map[string]string{"team": "x"}
				deleted := metav1.NewTime(base)
				w.DeletionTimestamp = &deleted
			}),
			aWavefront("wrong", func(w *wavefrontv1.Wavefront) { w.Spec.Nodes.Selector = metav1.LabelSelector{} }),
		},
		Kustomizations: []*kustomizev1.Kustomization{
			aKustomization(),
			aKustomization(func(k *kustomizev1.Kustomization) {
				k.Name, k.Labels = "both", map[string]string{wavefrontv1.ManagedLabel: "true", "team": "x"}
			}),
			aKustomization(func(k *kustomizev1.Kustomization) { k.Name, k.Labels = "none", nil }),
		},
		GitRepositories: []*sourcev1.GitRepository{aGitRepository()},
		HelmReleases:    []*helmv2.HelmRelease{aRelease(), aRelease(func(hr *helmv2.HelmRelease) { hr.Spec.Chart = nil })},
	}
	in, err := s.Input("fleet", now, base, local{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(in.Now).To(Equal(now))
	g.Expect(in.Clock).To(Equal(base))
	g.Expect(in.Self).To(Equal(fleet.Wavefront{
		Name: "fleet", Mode: fleet.Enforce, Suspended: true, ReplicaLag: 2 * time.Second, StaleAfter: 10 * time.Minute,
	}))
	g.Expect(in.Peers).To(HaveLen(2))
	g.Expect(in.Peers[0].Mode).To(Equal(fleet.Shadow), "the default")
	g.Expect(in.Peers[0].Deleting).To(BeTrue())
	selected := map[string][]string{}
	for _, n := range in.Nodes {
		selected[n.ID.Name] = n.SelectedBy
		g.Expect(n.Confirmed).To(BeTrue())
	}
	g.Expect(selected).To(Equal(map[string][]string{"app": {"fleet"}, "both": {"fleet", "other"}, "none": nil}))
	g.Expect(in.Sources).To(HaveLen(1))
	g.Expect(in.Sources[0].Manager).To(Equal("apps/repo"))
	g.Expect(in.Releases).To(HaveLen(1))

	_, err = s.Input("fleet", now, base, nil)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestInputOfAWrongWavefront(t *testing.T) {
	t.Parallel()

	s := &Snapshot{Wavefronts: []*wavefrontv1.Wavefront{
		aWavefront("empty", func(w *wavefrontv1.Wavefront) { w.Spec.Nodes.Selector = metav1.LabelSelector{} }),
		aWavefront("broken", func(w *wavefrontv1.Wavefront) {
			w.Spec.Nodes.Selector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
		}),
	}}
	tests := []struct{ name, wavefront, message string }{
		{name: "an empty selector", wavefront: "empty", message: `invalid Wavefront "empty": spec.nodes.selector: must not be empty`},
		{name: "an operator that does not exist", wavefront: "broken",
			message: `invalid Wavefront "broken": spec.nodes.selector: "Near" is not a valid label selector operator`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := s.Input(tt.wavefront, fleet.Instant{}, base, nil)
			g.Expect(err).To(BeAssignableToTypeOf(&SpecError{}))
			g.Expect(err).To(MatchError(tt.message))
		})
	}
	_, err := s.Input("gone", fleet.Instant{}, base, nil)
	NewWithT(t).Expect(err).To(MatchError(&MissingError{Wavefront: "gone"}))
}

// TestReleasesFromElsewhere: a release whose chart is from elsewhere is known where
// one with its chart from a GitRepository depends on it, and so the node that waits
// for a node behind it is named.
func TestReleasesFromElsewhere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	elsewhere := func(name string) *helmv2.HelmRelease {
		return aRelease(func(hr *helmv2.HelmRelease) {
			hr.Name, hr.Spec.Chart.Spec.SourceRef.Kind = name, sourcev1.HelmRepositoryKind
			hr.Labels[appliedByNameLabel] = "behind"
		})
	}
	s := &Snapshot{
		Wavefronts: []*wavefrontv1.Wavefront{aWavefront("fleet")},
		Kustomizations: []*kustomizev1.Kustomization{aKustomization(), aKustomization(func(k *kustomizev1.Kustomization) {
			k.Name, k.Spec.SourceRef.Name = "behind", "other"
			k.Spec.DependsOn = []kustomizev1.DependencyReference{{Name: "app"}}
		})},
		GitRepositories: []*sourcev1.GitRepository{aGitRepository(pinnedAt(commitA))},
		HelmReleases: []*helmv2.HelmRelease{
			elsewhere("late"), elsewhere("unrelated"),
			aRelease(func(hr *helmv2.HelmRelease) {
				hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "late"}, {Name: "absent"}}
				hr.Status.Conditions = readyCondition(metav1.ConditionFalse)
				hr.Status.Conditions[0].Reason = "DependencyNotReady"
			}),
		},
	}
	in, err := s.Input("fleet", fleet.Instant{Seq: 1}, base, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(in.Releases).To(HaveLen(2))
	g.Expect(in.Releases[1]).To(Equal(fleet.Release{ID: HelmReleaseID("apps", "late"), AppliedBy: KustomizationID("apps", "behind")}))
	ev := fleet.Evaluate(in)
	g.Expect(ev.Nodes[0].ID.Name).To(Equal("app"))
	g.Expect(ev.Nodes[0].Trouble).To(Equal(`HelmRelease "apps/web" waits for HelmRelease "apps/late", which belongs to Kustomization "apps/behind", behind this node: it can never be ready first`))
}

func BenchmarkInput(b *testing.B) {
	for _, size := range []int{100, 1000, 5000} {
		s := &Snapshot{Wavefronts: []*wavefrontv1.Wavefront{aWavefront("fleet")}}
		for i := range size {
			name := fmt.Sprintf("team-%04d", i)
			s.Kustomizations = append(s.Kustomizations, aKustomization(func(k *kustomizev1.Kustomization) {
				k.Name, k.Spec.SourceRef.Name = name, name
				k.Spec.DependsOn = []kustomizev1.DependencyReference{{Name: "team-0000"}, {Name: "team-0001"}}
				k.Status.Conditions = readyCondition(metav1.ConditionTrue)
				k.Status.LastAppliedRevision, k.Status.LastAttemptedRevision = "main@sha1:"+commitA, "main@sha1:"+commitA
			}))
			s.GitRepositories = append(s.GitRepositories, aGitRepository(pinnedAt(commitA), func(g *sourcev1.GitRepository) { g.Name = name }))
			s.HelmReleases = append(s.HelmReleases, aRelease(func(hr *helmv2.HelmRelease) { hr.Name = name }))
			s.HelmCharts = append(s.HelmCharts, aChart("apps-"+name))
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Input("fleet", fleet.Instant{}, base, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
