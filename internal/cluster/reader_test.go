// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// failing is a client whose lists of some kinds fail.
func failing(errs map[string]error, objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				for kind, err := range errs {
					if _, is := map[string]bool{kind: true}[kindOfList(list)]; is {
						return err
					}
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
}

// strict refuses what a real client or API server refuses to ask for.
func strict(objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if wrong := append(rest.IsValidPathSegmentName(key.Name), rest.IsValidPathSegmentName(key.Namespace)...); len(wrong) > 0 {
					return fmt.Errorf("invalid resource name %q: %v", key, wrong)
				}
				return c.Get(ctx, key, obj, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				all := (&client.ListOptions{}).ApplyOptions(opts)
				if all.LabelSelector != nil {
					if _, err := labels.Parse(all.LabelSelector.String()); err != nil {
						return apierrors.NewBadRequest(err.Error())
					}
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
}

func kindOfList(list client.ObjectList) string {
	switch list.(type) {
	case *wavefrontv1.WavefrontList:
		return "Wavefront"
	case *kustomizev1.KustomizationList:
		return "Kustomization"
	case *sourcev1.GitRepositoryList:
		return "GitRepository"
	case *helmv2.HelmReleaseList:
		return "HelmRelease"
	case *sourcev1.HelmChartList:
		return "HelmChart"
	}
	return ""
}

func TestRead(t *testing.T) {
	t.Parallel()

	noMatch := &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}}
	removed := apierrors.NewNotFound(schema.GroupResource{}, "")
	busy := errors.New("busy")
	tests := []struct {
		name     string
		errs     map[string]error
		releases int
		charts   int
		err      string
	}{
		{name: "everything", releases: 1, charts: 1},
		{name: "the CRDs of Helm are not installed", errs: map[string]error{"HelmRelease": noMatch, "HelmChart": noMatch}},
		{name: "the CRD of HelmReleases was removed", errs: map[string]error{"HelmRelease": removed}, charts: 1},
		{name: "Wavefronts", errs: map[string]error{"Wavefront": busy}, err: "failed to list Wavefronts: busy"},
		{name: "Kustomizations", errs: map[string]error{"Kustomization": busy}, err: "failed to list Kustomizations: busy"},
		{name: "GitRepositories", errs: map[string]error{"GitRepository": busy}, err: "failed to list GitRepositories: busy"},
		{name: "HelmReleases", errs: map[string]error{"HelmRelease": busy}, err: "failed to list HelmReleases: busy"},
		{name: "HelmCharts", errs: map[string]error{"HelmChart": busy}, err: "failed to list HelmCharts: busy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			newer := aGitRepository(func(r *sourcev1.GitRepository) { r.Spec.Suspend = true })
			reader := &Reader{
				Client:               failing(tt.errs, aWavefront("fleet"), aKustomization(), aGitRepository(), aRelease(), aChart("apps-web")),
				NoCrossNamespaceRefs: true,
				Newer:                func(*sourcev1.GitRepository) *sourcev1.GitRepository { return newer },
			}
			s, err := reader.Read(context.Background())
			if tt.err != "" {
				g.Expect(err).To(MatchError(tt.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.Wavefront("fleet")).NotTo(BeNil())
			g.Expect(s.Wavefront("other")).To(BeNil())
			g.Expect(s.Kustomization(KustomizationID("apps", "app"))).NotTo(BeNil())
			g.Expect(s.Kustomization(KustomizationID("apps", "other"))).To(BeNil())
			g.Expect(s.GitRepository(GitRepositoryID("apps", "repo"))).To(BeIdenticalTo(newer), "our own write stands")
			g.Expect(s.HelmReleases).To(HaveLen(tt.releases))
			g.Expect(s.HelmCharts).To(HaveLen(tt.charts))
			g.Expect(s.NoCrossNamespaceRefs).To(BeTrue())
		})
	}
}

func TestReread(t *testing.T) {
	t.Parallel()

	node := KustomizationID("apps", "app")
	stale := func() *Snapshot {
		return &Snapshot{
			Kustomizations:  []*kustomizev1.Kustomization{aKustomization()},
			GitRepositories: []*sourcev1.GitRepository{aGitRepository()},
			HelmReleases: []*helmv2.HelmRelease{
				aRelease(),
				aRelease(func(hr *helmv2.HelmRelease) { hr.Name, hr.Labels = "nobodys", nil }),
				aRelease(func(hr *helmv2.HelmRelease) { hr.Name = "gone" }),
				aRelease(func(hr *helmv2.HelmRelease) {
					hr.Name, hr.Labels = "elsewhere", nil
					hr.Spec.Chart.Spec.SourceRef.Name = "other"
				}),
			},
			HelmCharts: []*sourcev1.HelmChart{aChart("apps-web"), aChart("apps-nobodys")},
		}
	}
	live := func() []client.Object {
		return []client.Object{
			aKustomization(), aGitRepository(), aRelease(), aChart("apps-web"), aChart("apps-nobodys"),
			aRelease(func(hr *helmv2.HelmRelease) { hr.Name, hr.Labels = "nobodys", nil }),
			aRelease(func(hr *helmv2.HelmRelease) { hr.Name = "unseen" }), aChart("apps-unseen"),
		}
	}
	t.Run("everything that decides about the node is fresh", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		s := stale()
		c := failing(nil, live()...)
		fresh, err := s.Reread(context.Background(), c, []fleet.ID{node})
		g.Expect(err).NotTo(HaveOccurred())
		var names, charts []string
		for _, hr := range fresh.HelmReleases {
			names = append(names, hr.Name)
			if hr.Name != "elsewhere" {
				g.Expect(hr.ResourceVersion).NotTo(BeEmpty(), hr.Name)
			}
		}
		for _, chart := range fresh.HelmCharts {
			charts = append(charts, chart.Name)
			g.Expect(chart.ResourceVersion).NotTo(BeEmpty(), chart.Name)
		}
		g.Expect(names).To(ConsistOf("web", "nobodys", "unseen", "elsewhere"))
		g.Expect(charts).To(ConsistOf("apps-web", "apps-nobodys", "apps-unseen"))
		g.Expect(fresh.GitRepository(GitRepositoryID("apps", "repo")).ResourceVersion).NotTo(BeEmpty())
		g.Expect(s.HelmReleases).To(HaveLen(4), "the snapshot itself stays")

		again, err := s.Reread(context.Background(), c, []fleet.ID{node})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Fingerprint(node)).To(Equal(fresh.Fingerprint(node)))
		chart := aChart("apps-unseen")
		g.Expect(c.Get(context.Background(), client.ObjectKeyFromObject(chart), chart)).To(Succeed())
		chart.Status.ObservedChartName = "x"
		g.Expect(c.Update(context.Background(), chart)).To(Succeed())
		again, err = s.Reread(context.Background(), c, []fleet.ID{node})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Fingerprint(node)).NotTo(Equal(fresh.Fingerprint(node)))
	})
	t.Run("what is gone is gone", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		fresh, err := stale().Reread(context.Background(), failing(nil), []fleet.ID{node})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(fresh.Kustomizations).To(BeEmpty())
		g.Expect(fresh.Fingerprint(node)).To(BeEmpty())
	})
	t.Run("Helm was removed", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		removed := apierrors.NewNotFound(schema.GroupResource{}, "")
		fresh, err := stale().Reread(context.Background(), failing(map[string]error{"HelmRelease": removed}, live()...), []fleet.ID{node})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(fresh.HelmReleases).To(BeEmpty())
		g.Expect(fresh.HelmCharts).To(BeEmpty())
	})
	t.Run("what a sibling applied does not matter", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		sibling := aKustomization(func(k *kustomizev1.Kustomization) { k.Name = "sibling" })
		of := func(applier, name string, change ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
			return aRelease(append([]func(*helmv2.HelmRelease){func(hr *helmv2.HelmRelease) {
				hr.Name, hr.UID, hr.ResourceVersion, hr.Labels[appliedByNameLabel] = name, types.UID(name), "1", applier
			}}, change...)...)
		}
		elsewhere := func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.SourceRef.Kind = "HelmRepository" }
		snapshot := func(moved string) *Snapshot {
			s := &Snapshot{
				Kustomizations:  []*kustomizev1.Kustomization{aKustomization(), sibling},
				GitRepositories: []*sourcev1.GitRepository{aGitRepository()},
				HelmReleases: []*helmv2.HelmRelease{
					of("app", "own"), of("app", "foreign-chart", elsewhere), of("sibling", "siblings"), of("stranger", "stray"),
				},
			}
			for _, hr := range s.HelmReleases {
				if hr.Name == moved {
					hr.ResourceVersion = "2"
				}
			}
			return s
		}
		before := snapshot("").Fingerprint(node)
		for name, decides := range map[string]bool{"own": true, "stray": true, "siblings": false, "foreign-chart": false} {
			g.Expect(snapshot(name).Fingerprint(node) != before).To(Equal(decides), name)
		}

		read := map[string]bool{}
		c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(aKustomization(), aGitRepository()).Build(), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				read[key.Name] = true
				return c.Get(ctx, key, obj, opts...)
			},
		})
		_, err := snapshot("").Reread(context.Background(), c, []fleet.ID{node})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read).NotTo(HaveKey("siblings"))
		g.Expect(read).To(HaveKey("stray"))
	})
	t.Run("one request finds the releases of all nodes", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		applied := func(namespace, name string) *helmv2.HelmRelease {
			return aRelease(func(hr *helmv2.HelmRelease) {
				hr.Name, hr.ResourceVersion = namespace+"-"+name, ""
				hr.Labels[appliedByNameLabel], hr.Labels[appliedByNamespaceLabel] = name, namespace
			})
		}
		behind := aKustomization(func(k *kustomizev1.Kustomization) { k.Name = "behind" })
		lists := 0
		c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(
			aKustomization(), behind, aGitRepository(), applied("apps", "app"), applied("apps", "behind"), applied("elsewhere", "app"),
		).Build(), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				lists++
				return c.List(ctx, l, opts...)
			},
		})
		fresh, err := (&Snapshot{}).Reread(context.Background(), c, []fleet.ID{node, KustomizationID("apps", "behind")})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(lists).To(Equal(1))
		var names []string
		for _, hr := range fresh.HelmReleases {
			names = append(names, hr.Name)
		}
		g.Expect(names).To(ConsistOf("apps-app", "apps-behind"))
	})
	t.Run("names that no object can have", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		long := strings.Repeat("long", 20)
		s := &Snapshot{
			Kustomizations: []*kustomizev1.Kustomization{
				aKustomization(), aKustomization(func(k *kustomizev1.Kustomization) { k.Name = long }),
			},
			GitRepositories: []*sourcev1.GitRepository{aGitRepository()},
		}
		objects := []client.Object{
			s.Kustomizations[0].DeepCopy(), s.Kustomizations[1].DeepCopy(), aGitRepository(),
			aRelease(func(hr *helmv2.HelmRelease) {
				hr.Name, hr.Spec.Chart = "slash", nil
				hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.HelmChartKind, Name: "a/b"}
			}),
			aRelease(func(hr *helmv2.HelmRelease) { hr.Name, hr.Spec.Chart.Spec.SourceRef.Namespace = "percent", "a%2fb" }),
		}
		fresh, err := s.Reread(context.Background(), strict(objects...), []fleet.ID{node, KustomizationID("apps", long)})
		g.Expect(err).NotTo(HaveOccurred(), "one reference must not stop the others' judgement")
		g.Expect(fresh.HelmReleases).To(HaveLen(2))
		g.Expect(fresh.HelmCharts).To(BeEmpty())
	})
	t.Run("a list that fails", func(t *testing.T) {
		t.Parallel()
		_, err := stale().Reread(context.Background(), failing(map[string]error{"HelmRelease": errors.New("busy")}, live()...), []fleet.ID{node})
		NewWithT(t).Expect(err).To(MatchError("failed to list HelmReleases: busy"))
	})
}
