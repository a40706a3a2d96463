// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// helm-controller uninstalls the release of every HelmRelease that is deleted
// and not suspended.
func TestDeletingASuspendedFluxAppKeepsTheRelease(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*fluxappv1.FluxApp)
	}{
		{"suspended a moment ago", func(*fluxappv1.FluxApp) {}},
		{"suspended because its spec is wrong", func(app *fluxappv1.FluxApp) { app.Spec.Chart.Repository = "oci://nowhere" }},
		{"its ServiceAccount went first", func(app *fluxappv1.FluxApp) { app.Spec.ServiceAccountName = "gone" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ctx := context.Background()
			exact := newFluxApp()
			exact.Spec.Chart.Version = "6.5.4"
			c := newCluster(exact)
			process := c.process()
			c.run(g, process)
			var release helmv2.HelmRelease
			g.Expect(c.Get(ctx, appKey, &release)).To(Succeed())
			release.Finalizers = []string{"finalizers.fluxcd.io"}
			g.Expect(c.Update(ctx, &release)).To(Succeed())

			var app fluxappv1.FluxApp
			g.Expect(c.Get(ctx, appKey, &app)).To(Succeed())
			app.Spec.Suspend = true
			tt.change(&app)
			g.Expect(c.Update(ctx, &app)).To(Succeed())
			g.Expect(c.Delete(ctx, &app)).To(Succeed())
			_, err := process.Reconcile(ctx, ctrl.Request{NamespacedName: appKey})
			g.Expect(err).NotTo(HaveOccurred())

			g.Expect(c.Get(ctx, appKey, &release)).To(Succeed())
			g.Expect(release.DeletionTimestamp.IsZero()).To(BeFalse())
			g.Expect(release.Spec.Suspend).To(BeTrue())
			release.Finalizers = nil
			g.Expect(c.Update(ctx, &release)).To(Succeed())
			_, err = process.Reconcile(ctx, ctrl.Request{NamespacedName: appKey})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(apierrors.IsNotFound(c.Get(ctx, appKey, &app))).To(BeTrue())
		})
	}
}
