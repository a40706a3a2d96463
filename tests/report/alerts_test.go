// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
)

// TestAlertsAreAccepted applies the examples to a real API server with
// notification-controller's own CRDs, which refuse unknown kinds.
func TestAlertsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, example := range []string{"slack", "webhook"} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := env.Shared(t)
			objects, err := env.BuildKustomization(configDir("alerts", example))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objects).To(HaveLen(2))
			g.Expect(e.Apply(t.Context(), objects...)).To(Succeed())
			for _, o := range objects {
				stored := o.DeepCopy()
				g.Expect(e.Client().Get(t.Context(), client.ObjectKeyFromObject(o), stored)).To(Succeed())
				g.Expect(stored.Object["spec"]).To(Equal(o.Object["spec"]), "the API server dropped or changed a field")
			}
		})
	}
}

// TestAlertsSelectWhatIsAnnounced: the inclusion list of the examples takes what
// the controller says of Flux kinds, and nothing else.
func TestAlertsSelectWhatIsAnnounced(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, example := range []string{"slack", "webhook"} {
		objects, err := env.BuildKustomization(configDir("alerts", example))
		g.Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Alert" })
		list, found, err := unstructured.NestedStringSlice(objects[i].Object, "spec", "inclusionList")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(BeTrue())
		g.Expect(list).To(HaveLen(1))
		pattern := regexp.MustCompile(list[0])
		// TestEveryChangeIsToldOnce shows that every message begins so.
		g.Expect(pattern.MatchString("wavefront/fleet: advanced the pin from a to b")).To(BeTrue())
		g.Expect(pattern.MatchString("stored artifact for commit 'wavefront/fleet'")).To(BeFalse())
	}
}

// withWavefrontKind builds Flux's CRDs with the component, as a bootstrapped
// repository would; a second time over its own result.
func withWavefrontKind(g *WithT, dir string, crds ...*unstructured.Unstructured) []*unstructured.Unstructured {
	component, err := filepath.Abs(configDir("alerts", "wavefront-kind"))
	g.Expect(err).NotTo(HaveOccurred())
	dir, err = filepath.EvalSymlinks(dir)
	g.Expect(err).NotTo(HaveOccurred())
	component, err = filepath.Rel(dir, component)
	g.Expect(err).NotTo(HaveOccurred())
	kustomization := map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"components": []string{component},
	}
	var files []string
	for _, crd := range crds {
		files = append(files, crd.GetName()+".yaml")
		writeYAML(g, filepath.Join(dir, crd.GetName()+".yaml"), crd.Object)
	}
	kustomization["resources"] = files
	writeYAML(g, filepath.Join(dir, "kustomization.yaml"), kustomization)
	objects, err := env.BuildKustomization(dir)
	g.Expect(err).NotTo(HaveOccurred())
	return objects
}

func notificationCRDs(g *WithT) []*unstructured.Unstructured {
	var crds []*unstructured.Unstructured
	for _, name := range []string{"alerts", "receivers"} {
		content, err := os.ReadFile(filepath.Join("..", "env", "crds", "notification.toolkit.fluxcd.io_"+name+".yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		objects, err := env.Decode(content)
		g.Expect(err).NotTo(HaveOccurred())
		crds = append(crds, objects...)
	}
	return crds
}

// enums finds every closed list of kinds in a CRD.
func enums(value any) [][]any {
	var found [][]any
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			if list, ok := child.([]any); ok && key == "enum" && slices.Contains(list, any("GitRepository")) {
				found = append(found, list)
				continue
			}
			found = append(found, enums(child)...)
		}
	case []any:
		for _, child := range value {
			found = append(found, enums(child)...)
		}
	}
	return found
}

func only(objects []*unstructured.Unstructured, kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
}

// TestWavefrontKind opens the closed lists of a real API server for Wavefronts.
func TestWavefrontKind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const crd = "CustomResourceDefinition"
	original := notificationCRDs(g)
	objects := withWavefrontKind(g, t.TempDir(), original...)
	g.Expect(only(objects, "ConfigMap")).To(BeEmpty(), "the source of the replacement is not applied")
	opened := only(objects, crd)
	g.Expect(opened).To(HaveLen(2))
	for i, o := range opened {
		before, after := enums(original[i].Object), enums(o.Object)
		g.Expect(after).To(HaveLen(1))
		g.Expect(after[0]).To(Equal(append(slices.Clone(before[0]), "Wavefront")), o.GetName())
	}
	again := only(withWavefrontKind(g, t.TempDir(), opened...), crd)
	g.Expect(again).To(Equal(opened), "once is enough")

	e := env.ForTest(t, env.Options{NoFlux: true})
	alert := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Alert",
		"metadata": map[string]any{"namespace": env.RuntimeNamespace, "name": "wavefronts"},
		"spec": map[string]any{
			"providerRef":  map[string]any{"name": "wavefront-slack"},
			"eventSources": []any{map[string]any{"kind": "Wavefront", "name": "*"}},
		},
	}}
	receiver := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": "Receiver",
		"metadata": map[string]any{"namespace": env.RuntimeNamespace, "name": "wavefronts"},
		"spec": map[string]any{
			"type": "generic", "secretRef": map[string]any{"name": "token"},
			"resources": []any{map[string]any{"apiVersion": "wavefront.as-code.io/v1alpha1", "kind": "Wavefront", "name": "fleet"}},
		},
	}}
	for _, o := range []*unstructured.Unstructured{alert, receiver} {
		g.Expect(apierrors.IsInvalid(e.Client().Create(t.Context(), o.DeepCopy()))).To(BeTrue(), "stock Flux refuses the kind")
	}
	g.Expect(e.ApplyCRDs(t.Context(), opened...)).To(Succeed())
	g.Expect(e.Apply(t.Context(), slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == crd })...)).To(Succeed())
	for _, o := range []*unstructured.Unstructured{alert, receiver} {
		g.Eventually(func() error { return e.Client().Create(t.Context(), o.DeepCopy()) }, "20s", "100ms").Should(Succeed())
	}
}
