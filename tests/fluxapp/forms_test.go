// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// One FluxApp goes through every form, and keeps in each only what it needs.
// The release is upgraded at every step and never uninstalled.
func TestSwitchesBetweenForms(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "forms")
	registry := newOCIRegistry(t, false)
	charts := newChartRepository(t, false, false)
	for _, version := range []string{"6.0.0", "6.1.0", "7.0.0"} {
		registry.push(t, "podinfo", version)
		registry.push(t, "team/other", version)
		charts.publish("podinfo", version)
	}
	p.trust(t, registry.server)
	steps := []struct {
		name, repository, version string
		secure                    bool
		want                      string
		kept                      []string
	}{
		{name: "a constraint in a registry", repository: registry.chartURL("podinfo"), version: "~> 6", secure: true, want: "6.1.0", kept: allKinds},
		{name: "an exact version in a registry", repository: registry.chartURL("podinfo"), version: "6.0.0", secure: true, want: "6.0.0", kept: helmKinds},
		{name: "a constraint in a chart repository", repository: charts.chartURL("podinfo"), version: "6.x", want: "6.1.0", kept: helmKinds},
		{name: "an exact version in a chart repository", repository: charts.chartURL("podinfo"), version: "6.0.0", want: "6.0.0", kept: helmKinds},
		{name: "the newest of a chart repository", repository: charts.chartURL("podinfo"), version: "*", want: "7.0.0", kept: helmKinds},
		{name: "another constraint in a registry", repository: registry.chartURL("podinfo"), version: ">=6.0.0 <6.1.0", secure: true, want: "6.0.0", kept: allKinds},
		{name: "the same constraint on another chart", repository: registry.chartURL("team/other"), version: ">=6.0.0 <6.1.0", secure: true, want: "6.0.0", kept: allKinds},
		{name: "latest in a registry", repository: registry.chartURL("podinfo"), version: "latest", secure: true, want: "7.0.0", kept: helmKinds},
		{name: "back to where it began", repository: registry.chartURL("podinfo"), version: "~> 6", secure: true, want: "6.1.0", kept: allKinds},
	}
	app := p.app(t, "example", steps[0].repository, steps[0].version, trusting)
	for i, step := range steps {
		if i > 0 {
			p.change(t, app, func(spec *fluxappv1.FluxAppSpec) {
				spec.Chart.Repository, spec.Chart.Version, spec.CertSecretRef = step.repository, step.version, nil
				if step.secure {
					trusting(spec)
				}
			})
		}
		p.expectReady(t, app, step.want)
		p.expectKept(t, app, step.kept...)
		installed, ok := p.helm.release(client.ObjectKeyFromObject(app))
		g.Expect(ok).To(BeTrue(), step.name)
		g.Expect(installed.chart.Version).To(Equal(step.want), step.name)
		g.Expect(installed.chart.Name).To(Equal(app.Status.Chart), step.name)
		g.Expect(installed.revision).To(BeNumerically(">", i), step.name)
	}
}

// Charts come from a chart repository with TLS and a password.
func TestChartRepositoryWithLogin(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "http-login")
	charts := newChartRepository(t, true, true)
	charts.publish("podinfo", "6.0.0")
	p.trust(t, charts.server)
	p.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"},
		Data: map[string][]byte{"username": []byte(user), "password": []byte("wrong")}})
	app := p.app(t, "example", charts.chartURL("podinfo"), "", trusting, loggingIn)

	p.expectFailed(t, app, "Failed", "HelmRepository "+p.namespace+"/example: ", "401")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "login"}}
	p.fetch(t, secret)
	secret.Data["password"] = []byte(password)
	NewWithT(t).Expect(p.Client().Update(t.Context(), secret)).To(Succeed())
	p.expectReady(t, app, "6.0.0")
}

// Build metadata is a '+' in a version and a '_' in a registry's tag.
func TestBuildMetadata(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "build")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0+build.1")
	registry.push(t, "podinfo", "6.1.0+build.7")
	registry.push(t, "podinfo", "6.0.1")
	p.trust(t, registry.server)

	exact := p.app(t, "exact", registry.chartURL("podinfo"), "6.0.0+build.1", trusting)
	constrained := p.app(t, "constrained", registry.chartURL("podinfo"), "~> 6", trusting)
	p.expectReady(t, exact, "6.0.0+build.1")
	p.expectKept(t, exact, helmKinds...)
	p.expectReady(t, constrained, "6.1.0+build.7")
}

// The image pull secret of a ServiceAccount serves the scan and the pull.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "account")
	registry := newOCIRegistry(t, true)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	p.dockerLogin(t, "login", registry.address, password)
	app := p.app(t, "example", registry.chartURL("podinfo"), "~> 6", trusting, func(spec *fluxappv1.FluxAppSpec) {
		spec.ServiceAccountName = "puller"
	})
	p.expectFailed(t, app, "ServiceAccountUnusable", "spec.serviceAccountName", "not found")

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "puller"},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "login"}, {Name: "other"}}}
	p.create(t, account)
	p.expectFailed(t, app, "ServiceAccountUnusable", "has 2 image pull secrets", "name it in spec.secretRef")

	account.ImagePullSecrets = account.ImagePullSecrets[:1]
	g.Expect(p.Client().Update(t.Context(), account)).To(Succeed())
	p.expectReady(t, app, "6.0.0")
}

// Of several pull secrets, secretRef says which one fetches the chart.
func TestServiceAccountWithSecretRef(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "account-secret")
	registry := newOCIRegistry(t, true)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	p.dockerLogin(t, "login", registry.address, password)
	p.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "puller"},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "login"}, {Name: "other"}}})
	app := p.app(t, "example", registry.chartURL("podinfo"), "6.0.0", trusting, loggingIn, func(spec *fluxappv1.FluxAppSpec) {
		spec.ServiceAccountName = "puller"
	})
	p.expectReady(t, app, "6.0.0")
}

// Two FluxApps on one repository share nothing that one could break for the other.
func TestTwoAppsOnOneRepository(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "two")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	registry.push(t, "podinfo", "7.0.0")
	p.trust(t, registry.server)
	one := p.app(t, "one", registry.chartURL("podinfo"), "~> 6", trusting)
	two := p.app(t, "two", registry.chartURL("podinfo"), "~> 7", trusting)
	p.expectReady(t, one, "6.0.0")
	p.expectReady(t, two, "7.0.0")

	NewWithT(t).Expect(p.Client().Delete(t.Context(), one)).To(Succeed())
	p.expectGone(t, one)
	p.expectReady(t, two, "7.0.0")
	p.expectKept(t, two, allKinds...)
}

// The cloud provider reaches both objects that log in. No cloud answers here.
func TestProvider(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "provider")
	app := p.app(t, "example", "oci://127.0.0.1:1/podinfo", "6.0.0", func(spec *fluxappv1.FluxAppSpec) { spec.Provider = "aws" })
	p.expectKept(t, app, helmKinds...)
	p.expectField(t, app, "HelmRepository", "aws", "spec", "provider")
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Chart.Version = "~> 6" })
	p.expectKept(t, app, allKinds...)
	p.expectField(t, app, "ImageRepository", "aws", "spec", "provider")
}

// A request to reconcile is passed on, so that it finds a new version at once.
func TestReconcileRequest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "request")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	app := p.app(t, "example", registry.chartURL("podinfo"), "", trusting, func(spec *fluxappv1.FluxAppSpec) { spec.Interval = nil })
	p.expectReady(t, app, "6.0.0")

	registry.push(t, "podinfo", "6.1.0")
	base := app.DeepCopy()
	app.Annotations = map[string]string{fluxmeta.ReconcileRequestAnnotation: "now"}
	g.Expect(p.Client().Patch(t.Context(), app, client.MergeFrom(base))).To(Succeed())
	p.expectReady(t, app, "6.1.0")
	g.Expect(app.Status.LastHandledReconcileAt).To(Equal("now"))
}
