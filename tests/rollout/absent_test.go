// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestHelmLater: on a cluster without Helm's kinds, and without the second API, the
// controller starts and works; once they are installed, charts count.
func TestHelmLater(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	e := env.ForTest(t, env.Options{})
	for _, name := range []string{"helmreleases.helm.toolkit.fluxcd.io", "fluxapps.apps.kloudy.uk"} {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		g.Expect(e.Client().Delete(ctx, crd)).To(Succeed())
		g.Eventually(func() bool {
			return apierrors.IsNotFound(e.Client().Get(ctx, client.ObjectKeyFromObject(crd), crd))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
	}
	s := begin(ctx, t, e, "helm-later", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	s.enforce(ctx, g)

	g.Expect(e.Install(ctx)).To(Succeed())
	// A release of the node's source that nothing has installed.
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace(), Name: "db"}}
	hr.Spec.Interval = metav1.Duration{Duration: time.Minute}
	hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
		Chart: "./chart", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.GitRepositoryKind, Name: "db"},
	}}
	g.Expect(e.Client().Create(ctx, hr)).To(Succeed())
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.Phase == wavefrontv1.PhaseAdvancing && wf.Status.Nodes.Settled == 1
	})
	commits := s.push(ctx, g, "app")
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool { return len(wf.Status.Blocked) == 1 })
	g.Expect(e.Client().Delete(ctx, hr)).To(Succeed())
	g.Expect(s.AwaitApplied(ctx, "app", commits["app"])).To(Succeed())
}
