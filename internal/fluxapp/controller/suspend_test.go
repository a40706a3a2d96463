// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// A FluxApp can be stopped although its ServiceAccount is gone.
func TestSuspendingNeedsNoLogin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	account := &corev1.ServiceAccount{
		ObjectMeta:       metav1.ObjectMeta{Namespace: appKey.Namespace, Name: "puller"},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull-secret"}},
	}
	app := newFluxApp()
	app.Spec.ServiceAccountName, app.Spec.Chart.Version = account.Name, "6.5.4"
	c := newCluster(app, account)
	process := c.process()
	c.run(g, process)

	g.Expect(c.Delete(ctx, account)).To(Succeed())
	app = c.get(g)
	app.Spec.Suspend = true
	app.Generation++
	g.Expect(c.Update(ctx, app)).To(Succeed())
	_, err := process.Reconcile(ctx, ctrl.Request{NamespacedName: appKey})
	g.Expect(err).NotTo(HaveOccurred())

	var release helmv2.HelmRelease
	g.Expect(c.Get(ctx, appKey, &release)).To(Succeed())
	g.Expect(release.Spec.Suspend).To(BeTrue())
	var repository sourcev1.HelmRepository
	g.Expect(c.Get(ctx, appKey, &repository)).To(Succeed())
	g.Expect(repository.Spec.Suspend).To(BeTrue())
	g.Expect(repository.Spec.SecretRef).To(HaveField("Name", "pull-secret"))
}
