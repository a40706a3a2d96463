// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
)

// TestFluxUninstall carries out what `flux uninstall --keep-namespace` does: Flux's
// controllers end, the finalizers of Flux's kinds are removed, and whatever carries the
// label part-of=flux is deleted, definitions included. Ours stays, and a Wavefront can
// still be deleted, although the kinds it pinned are gone.
func TestFluxUninstall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fleet := newExampleFleet(t)
	fleet.enforce(t)

	fleet.uninstallFlux(t)
	wavefront := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
	g.Expect(fleet.Client().Get(t.Context(), client.ObjectKeyFromObject(wavefront), wavefront)).To(Succeed())
	g.Expect(wavefront.DeletionTimestamp).To(BeNil(), "it would wait for its finalizer")
	g.Expect(wavefront.Finalizers).To(ContainElement(wavefrontv1.WavefrontFinalizer))
	g.Expect(fleet.Image()).NotTo(BeEmpty(), "our Deployment was deleted")

	g.Expect(fleet.Client().Delete(t.Context(), wavefront)).To(Succeed())
	fleet.expectGone(t, wavefront)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "wavefronts.wavefront.as-code.io"}}
	g.Expect(fleet.Client().Delete(t.Context(), crd)).To(Succeed())
	fleet.expectGone(t, crd)
}

// TestFluxUninstallWithNamespace goes on to what `flux uninstall` does without
// --keep-namespace: the namespace goes, and our controller with it. The Wavefront is not
// waiting for anything, and wfctl removes it without a controller.
func TestFluxUninstallWithNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fleet := newExampleFleet(t)
	fleet.enforce(t)
	fleet.uninstallFlux(t)
	objs, err := env.Decode([]byte(installer(t, "config/default")))
	g.Expect(err).NotTo(HaveOccurred())
	for _, obj := range objs {
		// Nobody empties a namespace here; this is what would be done.
		if obj.GetNamespace() == namespace {
			g.Expect(obj.GetFinalizers()).To(BeEmpty(), "the namespace would wait for it")
			g.Expect(fleet.Client().Delete(t.Context(), obj)).To(Succeed())
		}
	}
	g.Eventually(fleet.Image, patience, glance).Should(BeEmpty())
	wavefront := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
	g.Expect(fleet.Client().Get(t.Context(), client.ObjectKeyFromObject(wavefront), wavefront)).To(Succeed())
	g.Expect(wavefront.DeletionTimestamp).To(BeNil())

	cmd := exec.Command("go", "run", "./cmd/wfctl", "--kubeconfig", fleet.Kubeconfig(), "uninstall", "--yes", "--timeout=1s")
	cmd.Dir = repository(t)
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	fleet.expectGone(t, wavefront)
}

// TestRemoveInOrder removes the project as the runbook says: the Wavefront, then the
// controller, then the definition. The pins stay, by the policy Keep.
func TestRemoveInOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fleet := newExampleFleet(t)
	fleet.enforce(t)
	pins := map[string]string{}
	for _, name := range flotillaNames {
		pins[name], _ = fleet.pin(t.Context(), g, name)
	}

	// Git no longer has the Wavefront, and Flux prunes it.
	fleet.commit(t, "Remove the Wavefront", env.Files{
		clusterPath + "/kustomization.yaml": strings.ReplaceAll(fleet.cluster[clusterPath+"/kustomization.yaml"], "- wavefront.yaml\n", ""),
	})
	fleet.expectGone(t, &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}})

	objs, err := env.Decode([]byte(installer(t, "config/default")))
	g.Expect(err).NotTo(HaveOccurred())
	for _, obj := range objs {
		g.Expect(fleet.Client().Delete(t.Context(), obj)).To(Succeed())
		fleet.expectGone(t, obj)
	}
	for name, pin := range pins {
		left, _ := fleet.pin(t.Context(), g, name)
		g.Expect(left).To(Equal(pin), name)
	}
}

// expectGone waits until an object is not there any more.
func (s *site) expectGone(t *testing.T, obj client.Object) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(s.Client().Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	}, patience, glance).Should(BeTrue(), "%T %s is not gone", obj, obj.GetName())
}

// uninstallFlux does, in its order, what the flux command documents.
func (s *site) uninstallFlux(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	ctx := t.Context()
	definitions := s.fluxDefinitions(t)
	g.Expect(s.SourceController().Stop()).To(Succeed())
	g.Expect(s.KustomizeController().Stop()).To(Succeed())
	for i := range definitions {
		g.Expect(s.removeFinalizers(ctx, &definitions[i])).To(Succeed())
	}
	var labelled apiextensionsv1.CustomResourceDefinitionList
	g.Expect(s.Client().List(ctx, &labelled, client.MatchingLabels{"app.kubernetes.io/part-of": "flux"})).To(Succeed())
	for i := range labelled.Items {
		g.Expect(s.Client().Delete(ctx, &labelled.Items[i])).To(Succeed())
	}
	for i := range definitions {
		s.expectGone(t, &definitions[i])
	}
}

// fluxDefinitions labels Flux's definitions as an installation by Flux does, and returns
// them.
func (s *site) fluxDefinitions(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	g := NewWithT(t)
	var all apiextensionsv1.CustomResourceDefinitionList
	g.Expect(s.Client().List(t.Context(), &all)).To(Succeed())
	var flux []apiextensionsv1.CustomResourceDefinition
	for _, crd := range all.Items {
		if !strings.HasSuffix(crd.Spec.Group, ".toolkit.fluxcd.io") {
			continue
		}
		before := crd.DeepCopy()
		if crd.Labels == nil {
			crd.Labels = map[string]string{}
		}
		crd.Labels["app.kubernetes.io/part-of"] = "flux"
		g.Expect(s.Client().Patch(t.Context(), &crd, client.MergeFrom(before))).To(Succeed())
		flux = append(flux, crd)
	}
	g.Expect(flux).NotTo(BeEmpty())
	return flux
}

// removeFinalizers empties the finalizers of all objects of a kind.
func (s *site) removeFinalizers(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(crd.Spec.Group + "/" + crd.Spec.Versions[0].Name)
	list.SetKind(crd.Spec.Names.ListKind)
	if err := s.Client().List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		before := list.Items[i].DeepCopy()
		list.Items[i].SetFinalizers(nil)
		if err := s.Client().Patch(ctx, &list.Items[i], client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
