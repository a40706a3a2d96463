// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

var managed = map[string]string{wavefrontv1.ManagedLabel: "true"}

// cleanFleet has nothing to find but the sentence about remote bases: app depends
// on db, each built from its own source, and app has a release.
func cleanFleet() *Fleet {
	return &Fleet{
		Wavefront: wavefront("fleet"),
		Read: &cluster.Snapshot{
			Wavefronts:      []*wavefrontv1.Wavefront{wavefront("fleet")},
			Kustomizations:  []*kustomizev1.Kustomization{node("db"), node("app", "db")},
			GitRepositories: []*sourcev1.GitRepository{source("db"), source("app")},
			HelmReleases:    []*helmv2.HelmRelease{release("app")},
			HelmCharts:      []*sourcev1.HelmChart{chart("app")},
		},
		Unread: map[string]string{},
	}
}

func wavefront(name string) *wavefrontv1.Wavefront {
	return &wavefrontv1.Wavefront{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: wavefrontv1.WavefrontSpec{
			Nodes: wavefrontv1.NodeSelection{Selector: metav1.LabelSelector{MatchLabels: managed}}, Mode: wavefrontv1.ModeEnforce,
		},
	}
}

func node(name string, dependsOn ...string) *kustomizev1.Kustomization {
	k := &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Labels: managed},
		Spec: kustomizev1.KustomizationSpec{
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: name}, Wait: true,
		},
	}
	for _, d := range dependsOn {
		k.Spec.DependsOn = append(k.Spec.DependsOn, fluxmeta.DependencyReference{Name: d})
	}
	return k
}

func source(name string) *sourcev1.GitRepository {
	return &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Labels: managed},
		Spec: sourcev1.GitRepositorySpec{
			URL: "https://git.example.com/" + name, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
	}
}

func release(name string) *helmv2.HelmRelease {
	return &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Labels: map[string]string{
			"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": "apps",
		}},
		Spec: helmv2.HelmReleaseSpec{Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: "./chart", ReconcileStrategy: sourcev1.ReconcileStrategyRevision,
			SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "GitRepository", Name: name},
		}}},
	}
}

func chart(name string) *sourcev1.HelmChart {
	return &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "apps-" + name}}
}

// local judges ownership as the controller does.
type local struct{}

func (local) AnnotateNode(n *fleet.Node) { n.Confirmed = true }

func (local) AnnotateSource(s *fleet.Source, g *sourcev1.GitRepository) {
	seen := pin.Unseen(g, time.Now())
	seen.Established = seen.Ownership.Managers()
	pin.Judge{Declarative: pin.DeclarativeManagers}.Annotate(s, pin.Facts{Object: g, Source: *s, Seen: seen, Now: fleet.Instant{Seq: 1}})
}

func (f *Fleet) evaluate(t *testing.T) *Fleet {
	t.Helper()
	in, err := f.Read.Input(f.Wavefront.Name, fleet.Instant{Seq: 1}, time.Now(), local{})
	if err != nil {
		t.Fatal(err)
	}
	ev := fleet.Evaluate(in)
	f.Evaluation = &ev
	return f
}

func TestChecks(t *testing.T) {
	t.Parallel()
	app := func(kind string) picture.Ref { return picture.Ref{Kind: kind, Namespace: "apps", Name: "app"} }
	git, kustomization, hr := app("GitRepository"), app("Kustomization"), app("HelmRelease")
	tests := []struct {
		check  string
		change func(*Fleet)
		object picture.Ref
	}{
		{"commit-in-git", func(f *Fleet) {
			g := f.Read.GitRepositories[1]
			g.Spec.Reference.Commit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			g.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kustomize-controller", Operation: "Apply",
				FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:ref":{"f:commit":{}}}}`)}}
		}, git},
		{"unsequenced-ref", func(f *Fleet) {
			f.Read.GitRepositories[1].Spec.Reference = &sourcev1.GitRepositoryRef{SemVer: "1.x"}
		}, git},
		{"verify-tag", func(f *Fleet) {
			f.Read.GitRepositories[1].Spec.Verification = &sourcev1.GitRepositoryVerification{Mode: sourcev1.ModeGitTagAndHEAD}
		}, git},
		{"include", func(f *Fleet) {
			f.Read.GitRepositories[1].Spec.Include = []sourcev1.GitRepositoryInclude{{GitRepositoryRef: fluxmeta.LocalObjectReference{Name: "db"}}}
		}, git},
		{"name-tracking", func(f *Fleet) {
			f.Read.GitRepositories[1].Spec.Reference = &sourcev1.GitRepositoryRef{Name: "refs/heads/main"}
		}, git},
		{"short-interval", func(f *Fleet) { f.Read.GitRepositories[1].Spec.Interval.Duration = time.Minute }, git},
		{"unused-source", func(f *Fleet) {
			f.Read.GitRepositories = append(f.Read.GitRepositories, source("lonely"))
		}, picture.Ref{Kind: "GitRepository", Namespace: "apps", Name: "lonely"}},
		{"unmanaged-source", func(f *Fleet) { f.Read.GitRepositories[1].Labels = nil }, kustomization},
		{"unmanaged-source", func(f *Fleet) { f.Read.Kustomizations[1].Spec.SourceRef.Name = "gone" }, kustomization},
		{"nothing-selected", func(f *Fleet) {
			f.Wavefront.Spec.Nodes.Selector.MatchLabels = map[string]string{"team": "nobody"}
		}, picture.Ref{Kind: "Wavefront", Name: "fleet"}},
		{"no-health", func(f *Fleet) { f.Read.Kustomizations[1].Spec.Wait = false }, kustomization},
		{"unsequenced-source", func(f *Fleet) { f.Read.Kustomizations[1].Spec.SourceRef.Kind = "OCIRepository" }, kustomization},
		{"remote-cluster", func(f *Fleet) {
			f.Read.Kustomizations[1].Spec.KubeConfig = &fluxmeta.KubeConfigReference{}
		}, kustomization},
		{"ready-expr", func(f *Fleet) { f.Read.Kustomizations[1].Spec.DependsOn[0].ReadyExpr = "true" }, kustomization},
		{"substitute-from", func(f *Fleet) {
			f.Read.Kustomizations[1].Spec.PostBuild = &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "ConfigMap", Name: "x"}}}
		}, kustomization},
		{"cycle", func(f *Fleet) {
			f.Read.Kustomizations[0].Spec.DependsOn = []fluxmeta.DependencyReference{{Name: "app"}}
		}, kustomization},
		{"missing-dependency", func(f *Fleet) { f.Read.Kustomizations[1].Spec.DependsOn[0].Name = "gone" }, kustomization},
		{"missing-dependency", func(f *Fleet) {
			f.Read.HelmReleases = append(f.Read.HelmReleases, release("chartish"))
			f.Read.Kustomizations[1].Spec.DependsOn[0].Name = "chartish"
		}, kustomization},
		{"overlap", func(f *Fleet) { f.Read.Wavefronts = append(f.Read.Wavefronts, wavefront("other")) }, kustomization},
		{"suspended-dependency", func(f *Fleet) { f.Read.Kustomizations[0].Spec.Suspend = true },
			picture.Ref{Kind: "Kustomization", Namespace: "apps", Name: "db"}},
		{"interleaved", func(f *Fleet) {
			late := node("late", "app")
			late.Spec.SourceRef.Name = "db"
			f.Read.Kustomizations = append(f.Read.Kustomizations, late)
		}, git},
		{"chart-floats", func(f *Fleet) {
			f.Read.HelmReleases[0].Spec.Chart.Spec.SourceRef.Kind = "HelmRepository"
			f.Read.HelmReleases[0].Spec.Chart.Spec.Version = ">=1.0.0"
		}, hr},
		{"chart-floats", func(f *Fleet) {
			f.Read.HelmReleases[0].Spec.Chart, f.Read.HelmReleases[0].Spec.ChartRef = nil, &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "oci"}
			f.OCIRepositories = []sourcev1.OCIRepository{{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "oci"}}}
		}, hr},
		{"chart-floats", func(f *Fleet) {
			loose := source("loose")
			loose.Labels = nil
			f.Read.GitRepositories = append(f.Read.GitRepositories, loose)
			f.Read.HelmReleases[0].Spec.Chart.Spec.SourceRef.Name = "loose"
		}, hr},
		{"chart-version", func(f *Fleet) { f.Read.HelmReleases[0].Spec.Chart.Spec.ReconcileStrategy = "ChartVersion" }, hr},
		{"values-from", func(f *Fleet) {
			f.Read.HelmReleases[0].Spec.ValuesFrom = []fluxmeta.ValuesReference{{Kind: "Secret", Name: "x"}}
		}, hr},
		{"automation-checkout", func(f *Fleet) { f.Automations = []unstructured.Unstructured{automation("app")} }, app("ImageUpdateAutomation")},
		{"receiver", func(f *Fleet) {
			r := notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "app"}}
			r.Spec.Resources = []notificationv1.ReceiverResource{{CrossNamespaceObjectReference: notificationv1.CrossNamespaceObjectReference{Kind: "GitRepository", Name: "app"}}}
			f.Receivers = []notificationv1.Receiver{r}
		}, app("Receiver")},
		{"unread", func(f *Fleet) { f.Unread["Receivers"] = "forbidden" }, picture.Ref{Kind: "Wavefront", Name: "fleet"}},
	}
	covered := map[string]bool{"remote-bases": true}
	for _, tt := range tests {
		covered[tt.check] = true
		t.Run(tt.check, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := cleanFleet()
			tt.change(f)
			found := Run(f.evaluate(t))
			g.Expect(found).To(ContainElement(And(HaveField("Check", tt.check), HaveField("Object", tt.object),
				HaveField("Why", Not(BeEmpty())), HaveField("Fix", Not(BeEmpty())))), "%v", found)
		})
	}
	g := NewWithT(t)
	for _, c := range Checks() {
		g.Expect(covered).To(HaveKey(c.Name), "every check has a test")
	}
}

func TestCleanFleet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	found := Run(cleanFleet().evaluate(t))
	g.Expect(found).To(HaveLen(1), "%v", found)
	g.Expect(found[0].Check).To(Equal("remote-bases"))
}

// TestNotFound holds the checks to what is no trouble.
func TestNotFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, check string
		change      func(*Fleet)
	}{
		{"a cycle of two sources", "interleaved", func(f *Fleet) {
			f.Read.Kustomizations[0].Spec.DependsOn = []fluxmeta.DependencyReference{{Name: "app"}}
		}},
		{"exact chart version", "chart-floats", func(f *Fleet) {
			s := &f.Read.HelmReleases[0].Spec.Chart.Spec
			s.SourceRef.Kind, s.Version = "HelmRepository", "1.2.3"
		}},
		{"pinned digest", "chart-floats", func(f *Fleet) {
			f.Read.HelmReleases[0].Spec.Chart, f.Read.HelmReleases[0].Spec.ChartRef = nil, &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "oci"}
			f.OCIRepositories = []sourcev1.OCIRepository{{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "oci"},
				Spec: sourcev1.OCIRepositorySpec{Reference: &sourcev1.OCIRepositoryRef{Digest: "sha256:x"}}}}
		}},
		{"automation with a branch", "automation-checkout", func(f *Fleet) {
			a := automation("app")
			_ = unstructured.SetNestedField(a.Object, "main", "spec", "git", "checkout", "ref", "branch")
			f.Automations = []unstructured.Unstructured{a}
		}},
		{"automation on another source", "automation-checkout", func(f *Fleet) { f.Automations = []unstructured.Unstructured{automation("elsewhere")} }},
		{"suspended leaf", "suspended-dependency", func(f *Fleet) { f.Read.Kustomizations[1].Spec.Suspend = true }},
		{"health checks in place of wait", "no-health", func(f *Fleet) {
			k := f.Read.Kustomizations[1]
			k.Spec.Wait, k.Spec.HealthChecks = false, []fluxmeta.NamespacedObjectKindReference{{Kind: "Deployment", Name: "app"}}
		}},
		{"another Wavefront's source", "unused-source", func(f *Fleet) {
			peer := wavefront("peer")
			peer.Spec.Nodes.Selector = metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
			k := node("theirs")
			k.Labels = map[string]string{"team": "x"}
			f.Read.Wavefronts = append(f.Read.Wavefronts, peer)
			f.Read.Kustomizations = append(f.Read.Kustomizations, k)
			f.Read.GitRepositories = append(f.Read.GitRepositories, source("theirs"))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := cleanFleet()
			tt.change(f)
			for _, found := range Run(f.evaluate(t)) {
				g.Expect(found.Check).NotTo(Equal(tt.check), "%v", found)
			}
		})
	}
}

func automation(source string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"kind": "ImageUpdateAutomation", "metadata": map[string]any{"namespace": "apps", "name": "app"},
		"spec": map[string]any{"sourceRef": map[string]any{"kind": "GitRepository", "name": source}, "git": map[string]any{}},
	}}
}
