// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
)

// The controller starts on a cluster without any of the kinds that it keeps,
// does what can be done, says what is missing, and goes on once it is there.
func TestMissingAPIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &suite{Env: env.ForTest(t, env.Options{NoFlux: true})}
	helm := uninstall(t, s, "helmrepositories.source.toolkit.fluxcd.io", "helmreleases.helm.toolkit.fluxcd.io")
	image := uninstall(t, s, "imagerepositories.image.toolkit.fluxcd.io", "imagepolicies.image.toolkit.fluxcd.io")
	g.Expect(s.startController(t.Context())).To(Succeed())

	p := s.place(t, "missing")
	exact := p.app(t, "exact", "oci://127.0.0.1:1/podinfo", "6.0.0")
	constrained := p.app(t, "constrained", "oci://127.0.0.1:1/podinfo", "~> 6")
	doomed := p.app(t, "doomed", "oci://127.0.0.1:1/podinfo", "~> 6")
	p.expectFailed(t, exact, "APINotInstalled", "HelmRepository (source.toolkit.fluxcd.io/v1), HelmRelease (helm.toolkit.fluxcd.io/v2)")
	p.expectFailed(t, constrained, "APINotInstalled", "ImageRepository (image.toolkit.fluxcd.io/v1)", "ImagePolicy", "HelmRelease")
	g.Expect(p.Client().Delete(t.Context(), doomed)).To(Succeed())
	g.Eventually(func() error { return p.Client().Get(t.Context(), client.ObjectKeyFromObject(doomed), doomed) },
		patience, often).Should(Satisfy(apierrors.IsNotFound))

	install(t, s, helm)
	g.Eventually(func() []string { p.fetch(t, exact); return inventoryKinds(exact) }, patience, often).Should(ConsistOf(helmKinds))
	p.expectFailed(t, constrained, "APINotInstalled", "serve ImageRepository (image.toolkit.fluxcd.io/v1), ImagePolicy (image.toolkit.fluxcd.io/v1):")

	install(t, s, image)
	p.expectKept(t, constrained, "ImageRepository", "ImagePolicy")
	p.expectKept(t, exact, helmKinds...)
}

// uninstall removes CRDs and returns them.
func uninstall(t *testing.T, s *suite, names ...string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var removed []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := s.Client().Get(t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
			t.Fatal(err)
		}
		removed = append(removed, crd.DeepCopy())
		if err := s.Client().Delete(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		NewWithT(t).Eventually(func() error { return s.Client().Get(t.Context(), client.ObjectKey{Name: name}, crd) },
			patience, often).Should(Satisfy(apierrors.IsNotFound))
	}
	return removed
}

func install(t *testing.T, s *suite, crds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	for _, crd := range crds {
		crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, Annotations: crd.Annotations, Labels: crd.Labels}
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		if err := s.Client().Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
	}
}
