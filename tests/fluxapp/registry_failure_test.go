// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// The step that fails is the step that is shown, and it recovers by itself.
func TestRegistryDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "down")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	registry.down()
	constrained := p.app(t, "constrained", registry.chartURL("podinfo"), "~> 6", trusting)
	exact := p.app(t, "exact", registry.chartURL("podinfo"), "6.0.0", trusting)
	p.expectFailed(t, constrained, "ReadOperationFailed", "ImageRepository "+p.namespace+"/constrained: scan failed", "connection refused")
	p.expectFailed(t, exact, "SourceNotReady", "HelmChart", "connection refused")

	registry.up(t)
	p.expectReady(t, constrained, "6.0.0")
	p.expectReady(t, exact, "6.0.0")

	// What runs goes on running when the registry is down, but it is said.
	registry.down()
	p.expectFailed(t, constrained, "ReadOperationFailed", "connection refused")
	g.Expect(constrained.Status.AppliedVersion).To(Equal("6.0.0"))
	p.change(t, constrained, withValues(`{"changed":"meanwhile"}`))
	g.Eventually(func(g Gomega) {
		installed, _ := p.helm.release(client.ObjectKeyFromObject(constrained))
		g.Expect(installed.values).To(HaveKeyWithValue("changed", "meanwhile"))
	}, patience, often).Should(Succeed())
}

func TestUnauthorised(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "unauthorised")
	registry := newOCIRegistry(t, true)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	p.dockerLogin(t, "login", registry.address, "wrong")
	constrained := p.app(t, "constrained", registry.chartURL("podinfo"), "~> 6", trusting, loggingIn)
	exact := p.app(t, "exact", registry.chartURL("podinfo"), "6.0.0", trusting, loggingIn)
	anonymous := p.app(t, "anonymous", registry.chartURL("podinfo"), "~> 6", trusting)
	p.expectFailed(t, constrained, "ReadOperationFailed", "ImageRepository "+p.namespace+"/constrained: ", "UNAUTHORIZED")
	p.expectFailed(t, exact, "SourceNotReady", "HelmChart", "401")
	p.expectFailed(t, anonymous, "ReadOperationFailed", "UNAUTHORIZED")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "login"}}
	NewWithT(t).Expect(p.Client().Delete(t.Context(), secret)).To(Succeed())
	p.dockerLogin(t, "login", registry.address, password)
	p.expectReady(t, constrained, "6.0.0")
	p.expectReady(t, exact, "6.0.0")
}

func TestEmptyRegistry(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "empty")
	registry := newOCIRegistry(t, false)
	registry.push(t, "other", "1.0.0")
	p.trust(t, registry.server)
	app := p.app(t, "example", registry.chartURL("podinfo"), "~> 6", trusting)
	p.expectFailed(t, app, "ReadOperationFailed", "ImageRepository", "NAME_UNKNOWN")
	p.expectKept(t, app, "ImageRepository", "ImagePolicy")

	registry.push(t, "podinfo", "main")
	p.expectFailed(t, app, "Failure", "ImagePolicy "+p.namespace+"/example: unable to determine latest version")

	registry.push(t, "podinfo", "6.0.0")
	p.expectReady(t, app, "6.0.0")
}

// When the constraint matches nothing any more, the release stays as it is.
func TestNothingMatches(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "no-match")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	app := p.app(t, "example", registry.chartURL("podinfo"), "~> 6", trusting)
	p.expectReady(t, app, "6.0.0")
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Chart.Version = "~> 9" })
	p.expectFailed(t, app, "Failure", "unable to determine latest version")
	g.Expect(app.Status.AppliedVersion).To(Equal("6.0.0"))
	g.Expect(app.Status.LatestVersion).To(BeEmpty())
	p.expectKept(t, app, allKinds...)
	p.expectField(t, app, "HelmRelease", "6.0.0", "spec", "chart", "spec", "version")

	// Nor is anything of another chart touched before that has a version.
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Chart.Repository = registry.chartURL("team/other") })
	p.expectFailed(t, app, "ReadOperationFailed", "NAME_UNKNOWN")
	p.expectField(t, app, "HelmRelease", "podinfo", "spec", "chart", "spec", "chart")
	p.expectField(t, app, "HelmRepository", "oci://"+registry.address, "spec", "url")
	registry.push(t, "team/other", "9.1.0")
	p.expectReady(t, app, "9.1.0")
	p.expectField(t, app, "HelmRepository", "oci://"+registry.address+"/team", "spec", "url")
}

func TestChartRepositoryFailures(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "http-failure")
	charts := newChartRepository(t, false, false)
	charts.publish("other", "1.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "~> 6")
	p.expectFailed(t, app, "SourceNotReady", "HelmChart", "no chart name found")
	charts.publish("podinfo", "7.0.0")
	p.expectFailed(t, app, "SourceNotReady", "HelmChart", "~> 6")
	charts.publish("podinfo", "6.0.0")
	p.expectReady(t, app, "6.0.0")
	charts.down()
	p.expectFailed(t, app, "Failed", "HelmRepository "+p.namespace+"/example: ", "connection refused")
	charts.up(t)
	p.expectReady(t, app, "6.0.0")
}
