// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// expectGone waits until a FluxApp is gone, with all its objects but those of
// the given kinds.
func (p place) expectGone(t *testing.T, app *fluxappv1.FluxApp, but ...string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() bool {
		return apierrors.IsNotFound(p.Client().Get(t.Context(), client.ObjectKeyFromObject(app), &fluxappv1.FluxApp{}))
	}, patience, often).Should(BeTrue())
	found, err := p.kept(t.Context(), app)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(found)).To(ConsistOf(but), "everything went before the FluxApp did")
}

// There is no garbage collector here: what goes, the finalizer deleted.
func TestDeletionAtAnyMoment(t *testing.T) {
	t.Parallel()
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	tests := []struct {
		name, version, path string
		change              func(*fluxappv1.FluxAppSpec)
		reach               func(*testing.T, place, *fluxappv1.FluxApp)
	}{
		{name: "at once", version: "~> 6", path: "podinfo", reach: func(*testing.T, place, *fluxappv1.FluxApp) {}},
		{name: "once the finalizer is there", version: "~> 6", path: "podinfo", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			NewWithT(t).Eventually(func() []string { p.fetch(t, app); return app.Finalizers }, patience, "1ms").ShouldNot(BeEmpty())
		}},
		{name: "once the inventory is there", version: "~> 6", path: "podinfo", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			NewWithT(t).Eventually(func() any { p.fetch(t, app); return app.Status.Inventory }, patience, "1ms").ShouldNot(BeNil())
		}},
		{name: "while a version is awaited", version: "~> 9", path: "podinfo", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			p.expectFailed(t, app, "Failure")
		}},
		{name: "while the chart is fetched", version: "6.0.0", path: "podinfo", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			NewWithT(t).Eventually(func() []string { p.fetch(t, app); return inventoryKinds(app) }, patience, "1ms").Should(ContainElement("HelmRelease"))
		}},
		{name: "while the chart cannot be fetched", version: "6.0.0", path: "missing", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			p.expectFailed(t, app, "SourceNotReady")
		}},
		{name: "while the release fails", version: "6.0.0", path: "podinfo", change: withValues(`{"fail":true}`), reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			p.expectFailed(t, app, "InstallFailed")
		}},
		{name: "when all is well", version: "~> 6", path: "podinfo", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			p.expectReady(t, app, "6.0.0")
		}},
		{name: "in the middle of a switch", version: "~> 6", path: "podinfo", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			p.expectReady(t, app, "6.0.0")
			p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Chart.Version = "6.0.0" })
		}},
		{name: "when the inventory was tampered with", version: "~> 6", path: "podinfo", reach: func(t *testing.T, p place, app *fluxappv1.FluxApp) {
			p.expectReady(t, app, "6.0.0")
			base := app.DeepCopy()
			app.Status.Inventory = &fluxappv1.ResourceInventory{Entries: []fluxappv1.ResourceRef{{ID: "nonsense", Version: "v1"}}}
			NewWithT(t).Expect(p.Client().Status().Patch(t.Context(), app, client.MergeFrom(base))).To(Succeed())
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := sharedSuite(t).place(t, "deletion")
			p.trust(t, registry.server)
			change := tt.change
			if change == nil {
				change = func(*fluxappv1.FluxAppSpec) {}
			}
			app := p.app(t, "example", registry.chartURL(tt.path), tt.version, trusting, change)
			tt.reach(t, p, app)
			g.Expect(p.Client().Delete(t.Context(), app)).To(Succeed())
			p.expectGone(t, app)
			_, installed := p.helm.release(client.ObjectKeyFromObject(app))
			g.Expect(installed).To(BeFalse(), "the release was uninstalled")
		})
	}
}

// The FluxApp stays, and says why, until the release is uninstalled.
func TestDeletionWaitsForTheRelease(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "slow-deletion")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0")
	p.expectReady(t, app, "6.0.0")
	p.helm.block(client.ObjectKeyFromObject(app), true)
	g.Expect(p.Client().Delete(t.Context(), app)).To(Succeed())
	g.Eventually(func(g Gomega) {
		p.fetch(t, app)
		g.Expect(summary(app)).To(Equal("Unknown Deleting: waiting for removal of HelmRelease " + p.namespace + "/example"))
		g.Expect(conditions.IsTrue(app, fluxmeta.ReconcilingCondition)).To(BeTrue())
		g.Expect(inventoryKinds(app)).To(ConsistOf("HelmRelease"))
	}, patience, often).Should(Succeed())
	p.helm.block(client.ObjectKeyFromObject(app), false)
	p.expectGone(t, app)
}

// A suspended FluxApp can be deleted; its release stays, as a suspended
// HelmRelease's does.
func TestDeletionWhileSuspended(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "suspended-deletion")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0")
	p.expectReady(t, app, "6.0.0")
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Suspend = true })
	p.expectField(t, app, "HelmRelease", true, "spec", "suspend")
	g.Expect(p.Client().Delete(t.Context(), app)).To(Succeed())
	p.expectGone(t, app)
	_, installed := p.helm.release(client.ObjectKeyFromObject(app))
	g.Expect(installed).To(BeTrue())
}

// 'kubectl delete --cascade=orphan' leaves the objects.
func TestOrphaningDeletion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "orphan")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0")
	p.expectReady(t, app, "6.0.0")
	g.Expect(p.Client().Delete(t.Context(), app, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	g.Eventually(func() []string { p.fetch(t, app); return app.Finalizers }, patience, often).
		Should(ConsistOf(metav1.FinalizerOrphanDependents), "the garbage collector's own, which is not here")
	found, err := p.kept(t.Context(), app)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(found)).To(ConsistOf(helmKinds))
}
