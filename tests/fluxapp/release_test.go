// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

func withValues(json string) func(*fluxappv1.FluxAppSpec) {
	return func(spec *fluxappv1.FluxAppSpec) { spec.Values = &apiextensionsv1.JSON{Raw: []byte(json)} }
}

// Values, their sources, the target namespace and its creation reach the
// release, and a change of them is an upgrade.
func TestValuesAndTarget(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "values")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	p.create(t,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"values.yaml": "a: config\nb: config\nc: config\n"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}, Data: map[string][]byte{"more": []byte("b: secret\nc: secret\n")}},
	)
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0", withValues(`{"c":"own","n":null,"list":[1,2.5]}`), func(spec *fluxappv1.FluxAppSpec) {
		spec.TargetNamespace, spec.CreateNamespace = "elsewhere", true
		spec.ValuesFrom = []fluxmeta.ValuesReference{{Kind: "ConfigMap", Name: "config"}, {Kind: "Secret", Name: "secret", ValuesKey: "more"}}
	})
	p.expectReady(t, app, "6.0.0")
	installed, _ := p.helm.release(client.ObjectKeyFromObject(app))
	g.Expect(installed.values).To(HaveKeyWithValue("a", "config"))
	g.Expect(installed.values).To(HaveKeyWithValue("b", "secret"))
	g.Expect(installed.values).To(HaveKeyWithValue("c", "own"))
	g.Expect(installed.values["list"]).To(HaveLen(2))
	g.Expect(installed.name).To(Equal("example"))
	g.Expect(installed.namespace).To(Equal("elsewhere"))
	g.Expect(installed.createNamespace).To(BeTrue())

	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) {
		spec.Values, spec.ValuesFrom = nil, nil
		spec.TargetNamespace, spec.CreateNamespace = "", false
	})
	g.Eventually(func(g Gomega) {
		installed, _ := p.helm.release(client.ObjectKeyFromObject(app))
		g.Expect(installed.values).To(BeEmpty(), "what is no longer wanted is taken out of the HelmRelease")
		g.Expect(installed.namespace).To(Equal(p.namespace))
		g.Expect(installed.createNamespace).To(BeFalse())
	}, patience, often).Should(Succeed())
	p.expectReady(t, app, "6.0.0")
}

// A failure of the release is the FluxApp's, in the release's own words.
func TestReleaseFailure(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "release-failure")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0", withValues(`{"fail":true}`))
	p.expectFailed(t, app, "InstallFailed", "Helm install failed for release "+p.namespace+"/example with chart podinfo@6.0.0: boom")
	p.change(t, app, withValues(`{"fail":false}`))
	p.expectReady(t, app, "6.0.0")
}

// A FluxApp waits for another, in its own and in another namespace.
func TestDependsOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := sharedSuite(t)
	p, data := s.place(t, "dependent"), s.place(t, "dependency")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0", func(spec *fluxappv1.FluxAppSpec) {
		spec.DependsOn = []fluxmeta.DependencyReference{{Name: "near"}, {Name: "far", Namespace: data.namespace}}
	})
	p.expectFailed(t, app, "DependencyNotReady", p.namespace+"/near")
	near := p.app(t, "near", charts.chartURL("podinfo"), "6.0.0")
	p.expectReady(t, near, "6.0.0")
	p.expectFailed(t, app, "DependencyNotReady", data.namespace+"/far")
	_, installed := s.helm.release(client.ObjectKeyFromObject(app))
	g.Expect(installed).To(BeFalse())
	data.app(t, "far", charts.chartURL("podinfo"), "6.0.0")
	p.expectReady(t, app, "6.0.0")
}

// A suspended FluxApp follows no new version until it is resumed.
func TestSuspend(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "suspend")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	app := p.app(t, "example", registry.chartURL("podinfo"), "", trusting)
	p.expectReady(t, app, "6.0.0")

	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Suspend = true })
	for _, kind := range allKinds {
		p.expectField(t, app, kind, true, "spec", "suspend")
	}
	before := app.Status.DeepCopy()
	registry.push(t, "podinfo", "6.1.0")
	p.change(t, app, withValues(`{"while":"suspended"}`))
	p.expectField(t, app, "HelmRelease", "suspended", "spec", "values", "while")
	installed, _ := p.helm.release(client.ObjectKeyFromObject(app))
	g.Expect(installed.chart.Version).To(Equal("6.0.0"))
	g.Expect(installed.values).To(BeEmpty())
	p.fetch(t, app)
	g.Expect(app.Status.Conditions).To(Equal(before.Conditions), "suspending says nothing about readiness")

	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Suspend = false })
	p.expectReady(t, app, "6.1.0")
	installed, _ = p.helm.release(client.ObjectKeyFromObject(app))
	g.Expect(installed.values).To(HaveKeyWithValue("while", "suspended"))
	for _, kind := range allKinds {
		p.expectField(t, app, kind, nil, "spec", "suspend")
	}
}

// One that is suspended from the start creates nothing.
func TestBornSuspended(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "born-suspended")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0", func(spec *fluxappv1.FluxAppSpec) { spec.Suspend = true })
	g.Eventually(func(g Gomega) {
		p.fetch(t, app)
		g.Expect(app.Finalizers).To(ContainElement(fluxappv1.FluxAppFinalizer))
	}, patience, often).Should(Succeed())
	g.Consistently(func(g Gomega) {
		found, err := p.kept(t.Context(), app)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(BeEmpty())
	}, "1s", often).Should(Succeed())
	g.Expect(app.Status.ObservedGeneration).To(Equal(int64(-1)), "the default of a status that nobody wrote")
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Suspend = false })
	p.expectReady(t, app, "6.0.0")
}
