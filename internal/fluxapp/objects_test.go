// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp"
)

func TestNothingThatIsNotNeeded(t *testing.T) {
	t.Parallel()
	helm := []string{"HelmRepository", "HelmRelease"}
	all := append([]string{"ImageRepository", "ImagePolicy"}, helm...)
	tests := []struct {
		repository, version string
		needed              []string
		chartVersion        string
	}{
		{repository: ociChart, version: "", needed: all},
		{repository: ociChart, version: "~> 6", needed: all},
		{repository: ociChart, version: "6.5.4", needed: helm, chartVersion: "6.5.4"},
		{repository: ociChart, version: "6.5.4+b1", needed: helm, chartVersion: "6.5.4+b1"},
		{repository: ociChart, version: "latest", needed: helm, chartVersion: "*"},
		{repository: httpChart, version: "", needed: helm, chartVersion: "*"},
		{repository: httpChart, version: "~> 6", needed: helm, chartVersion: "~> 6"},
		{repository: httpChart, version: "6.5.4", needed: helm, chartVersion: "6.5.4"},
	}
	for _, tt := range tests {
		t.Run(tt.repository+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			intent := parse(g, newApp(tt.repository, tt.version))
			g.Expect(intent.Needed()).To(ConsistOf(tt.needed))
			desired := intent.Desired(fluxapp.Objects{})
			g.Expect(desired.ImageRepository != nil).To(Equal(intent.Selects()))
			g.Expect(desired.ImagePolicy != nil).To(Equal(intent.Selects()))
			if tt.chartVersion == "" {
				g.Expect(desired.HelmRepository).To(BeNil(), "no version is known yet")
				g.Expect(desired.HelmRelease).To(BeNil(), "no version is known yet")
				return
			}
			g.Expect(desired.HelmRelease.Spec.Chart.Spec.Version).To(Equal(tt.chartVersion))
		})
	}
}

func TestEveryFieldReachesItsObjects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	intent := parse(g, newApp(ociChart, "~> 6", func(a *fluxappv1.FluxApp) {
		a.Spec = fluxappv1.FluxAppSpec{
			Chart:              a.Spec.Chart,
			TargetNamespace:    "prod",
			CreateNamespace:    true,
			SecretRef:          &fluxmeta.LocalObjectReference{Name: "login"},
			CertSecretRef:      &fluxmeta.LocalObjectReference{Name: "ca"},
			Provider:           "generic",
			ServiceAccountName: "puller",
			Values:             &apiextensionsv1.JSON{Raw: []byte(`{"replicas":2}`)},
			ValuesFrom:         []fluxmeta.ValuesReference{{Kind: "ConfigMap", Name: "more"}},
			DependsOn:          []fluxmeta.DependencyReference{{Name: "database", Namespace: "data"}},
			Interval:           &metav1.Duration{Duration: time.Hour},
			Suspend:            true,
		}
	}))
	desired := intent.Desired(selectedObjects(intent, "6.5.4"))

	repository := desired.ImageRepository.Spec
	g.Expect(repository.Image).To(Equal("ghcr.io/stefanprodan/charts/podinfo"))
	g.Expect(repository.Interval.Duration).To(Equal(time.Hour))
	g.Expect(repository.SecretRef.Name).To(Equal("login"))
	g.Expect(repository.CertSecretRef.Name).To(Equal("ca"))
	g.Expect(repository.ServiceAccountName).To(Equal("puller"))
	g.Expect(repository.Provider).To(Equal("generic"))
	g.Expect(repository.Suspend).To(BeTrue())

	policy := desired.ImagePolicy.Spec
	g.Expect(policy.ImageRepositoryRef.Name).To(Equal("example"))
	g.Expect(policy.Policy.SemVer.Range).To(Equal("~> 6"))
	g.Expect(policy.Suspend).To(BeTrue())

	charts := desired.HelmRepository.Spec
	g.Expect(charts.Type).To(Equal("oci"))
	g.Expect(charts.URL).To(Equal("oci://ghcr.io/stefanprodan/charts"))
	g.Expect(charts.SecretRef.Name).To(Equal("login"))
	g.Expect(charts.CertSecretRef.Name).To(Equal("ca"))
	g.Expect(charts.Provider).To(Equal("generic"))
	g.Expect(charts.Suspend).To(BeTrue())

	release := desired.HelmRelease.Spec
	g.Expect(release.ReleaseName).To(Equal("example"))
	g.Expect(release.TargetNamespace).To(Equal("prod"))
	g.Expect(release.Install.CreateNamespace).To(BeTrue())
	g.Expect(release.Chart.Spec.Chart).To(Equal("podinfo"))
	g.Expect(release.Chart.Spec.Version).To(Equal("6.5.4"))
	g.Expect(release.Chart.Spec.SourceRef).To(Equal(helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "example"}))
	g.Expect(string(release.Values.Raw)).To(Equal(`{"replicas":2}`))
	g.Expect(release.ValuesFrom).To(HaveLen(1))
	g.Expect(release.DependsOn).To(HaveLen(1))
	g.Expect(release.Interval.Duration).To(Equal(time.Hour))
	g.Expect(release.Suspend).To(BeTrue())
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	desired := parse(g, newApp(httpChart, "")).Desired(fluxapp.Objects{})
	g.Expect(desired.HelmRelease.Spec.TargetNamespace).To(Equal("team"))
	g.Expect(desired.HelmRelease.Spec.Interval.Duration).To(Equal(10 * time.Minute))
	g.Expect(desired.HelmRelease.Spec.Install).To(BeNil())
	g.Expect(desired.HelmRepository.Spec.Type).To(Equal("default"))
	g.Expect(desired.HelmRepository.Spec.URL).To(Equal("https://stefanprodan.github.io/podinfo"))
}

func TestPullSecretStandsInForAServiceAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	intent := parse(g, newApp(ociChart, "6.5.4", func(a *fluxappv1.FluxApp) { a.Spec.ServiceAccountName = "puller" }))
	intent.PullSecret = "pull-secret"
	g.Expect(intent.Desired(fluxapp.Objects{}).HelmRepository.Spec.SecretRef.Name).To(Equal("pull-secret"))
	intent.App.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: "login"}
	g.Expect(intent.Desired(fluxapp.Objects{}).HelmRepository.Spec.SecretRef.Name).To(Equal("login"))
}
