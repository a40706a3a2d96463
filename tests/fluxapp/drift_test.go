// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// expectField waits until a field of one of the FluxApp's objects has a value,
// or is absent where the value is nil.
func (p place) expectField(t *testing.T, app *fluxappv1.FluxApp, kind string, want any, path ...string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		found, err := p.kept(t.Context(), app)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(HaveKey(kind))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found[kind])
		g.Expect(err).NotTo(HaveOccurred())
		value, ok, err := unstructured.NestedFieldNoCopy(content, path...)
		g.Expect(err).NotTo(HaveOccurred())
		if want == nil {
			g.Expect(ok).To(BeFalse(), "%v is %v", path, value)
			return
		}
		g.Expect(value).To(Equal(want), "%v", path)
	}, patience, often).Should(Succeed())
}

// edit changes an object as somebody does who uses the given field manager.
func (p place) edit(t *testing.T, app *fluxappv1.FluxApp, kind, manager, patch string) {
	t.Helper()
	object := p.object(t, app, kind)
	err := p.Client().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager))
	if err != nil {
		t.Fatalf("failed to edit %s: %v", kind, err)
	}
}

func (p place) object(t *testing.T, app *fluxappv1.FluxApp, kind string) client.Object {
	t.Helper()
	found, err := p.kept(t.Context(), app)
	if err != nil || found[kind] == nil {
		t.Fatalf("failed to find %s of %s: %v", kind, app.Name, err)
	}
	return found[kind]
}

// What is edited by hand is put right, whoever did it; what is deleted is made
// again; what others add, and is not ours, stays.
func TestDriftIsCorrected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "drift")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	app := p.app(t, "example", registry.chartURL("podinfo"), "~> 6", trusting)
	p.expectReady(t, app, "6.0.0")
	tests := []struct {
		kind, manager, patch string
		want                 any
		path                 []string
	}{
		{"ImageRepository", "kubectl-edit", `{"spec":{"image":"elsewhere/podinfo"}}`, registry.address + "/podinfo", []string{"spec", "image"}},
		{"ImagePolicy", "kubectl-edit", `{"spec":{"policy":{"semver":{"range":"*"}}}}`, "~> 6", []string{"spec", "policy", "semver", "range"}},
		{"HelmRepository", "kubectl-edit", `{"spec":{"url":"oci://elsewhere"}}`, "oci://" + registry.address, []string{"spec", "url"}},
		{"HelmRelease", "kubectl-edit", `{"spec":{"chart":{"spec":{"version":"1.0.0"}}}}`, "6.0.0", []string{"spec", "chart", "spec", "version"}},
		{"HelmRelease", "somebody", `{"spec":{"targetNamespace":"elsewhere"}}`, p.namespace, []string{"spec", "targetNamespace"}},
		{"HelmRelease", "kubectl-edit", `{"spec":{"maxHistory":1}}`, nil, []string{"spec", "maxHistory"}},
		{"HelmRelease", "kubectl-edit", `{"spec":{"values":{"by":"hand"}}}`, nil, []string{"spec", "values"}},
		{"HelmRelease", "somebody", `{"metadata":{"labels":{"apps.kloudy.uk/name":null}}}`, "example", []string{"metadata", "labels", "apps.kloudy.uk/name"}},
	}
	for _, tt := range tests {
		p.edit(t, app, tt.kind, tt.manager, tt.patch)
		p.expectField(t, app, tt.kind, tt.want, tt.path...)
	}

	p.edit(t, app, "HelmRelease", "somebody", `{"metadata":{"ownerReferences":[]}}`)
	g.Eventually(func() string {
		controller := metav1.GetControllerOf(p.object(t, app, "HelmRelease"))
		if controller == nil {
			return ""
		}
		return string(controller.UID)
	}, patience, often).Should(Equal(string(app.UID)))

	p.edit(t, app, "HelmRelease", "flux", `{"spec":{"suspend":true}}`)
	p.edit(t, app, "HelmRelease", "somebody", `{"spec":{"timeout":"7m0s"}}`)
	for _, kind := range allKinds {
		object := p.object(t, app, kind)
		g.Expect(p.Client().Delete(t.Context(), object)).To(Succeed())
		g.Eventually(func(g Gomega) {
			found, err := p.kept(t.Context(), app)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(HaveKey(kind))
			g.Expect(found[kind].GetUID()).NotTo(Equal(object.GetUID()))
		}, patience, often).Should(Succeed())
		if kind == "HelmRepository" {
			p.expectField(t, app, "HelmRelease", true, "spec", "suspend")
			p.expectField(t, app, "HelmRelease", "7m0s", "spec", "timeout")
		}
	}
	p.expectReady(t, app, "6.0.0")
}

// An object that belongs to somebody else is left alone, until it is gone or
// handed over.
func TestNameConflict(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "conflict")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	foreign := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: "example"}, Spec: helmv2.HelmReleaseSpec{
		Suspend: true,
		Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "theirs",
			SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "theirs"}}}}}
	p.create(t, foreign)
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0")
	p.expectFailed(t, app, "NameConflict", "HelmRelease "+p.namespace+"/example exists already", "apps.kloudy.uk/name")
	p.expectField(t, app, "HelmRelease", "theirs", "spec", "chart", "spec", "chart")
	found, err := p.kept(t.Context(), app)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(found)).To(ConsistOf("HelmRelease"), "nothing of ours is made beside it")
	g.Expect(app.Status.Inventory).To(BeNil(), "what is not ours is not listed")

	p.edit(t, app, "HelmRelease", "somebody", `{"metadata":{"labels":{"apps.kloudy.uk/name":"example","apps.kloudy.uk/namespace":"`+p.namespace+`"}}}`)
	p.expectField(t, app, "HelmRelease", "podinfo", "spec", "chart", "spec", "chart")
	p.edit(t, app, "HelmRelease", "somebody", `{"spec":{"suspend":null}}`)
	p.expectReady(t, app, "6.0.0")

	theirs := foreign.DeepCopy()
	theirs.ObjectMeta = metav1.ObjectMeta{Name: "second"}
	p.create(t, theirs)
	second := p.app(t, "second", charts.chartURL("podinfo"), "6.0.0")
	p.expectFailed(t, second, "NameConflict", "HelmRelease")
	g.Expect(p.Client().Delete(t.Context(), theirs)).To(Succeed())
	p.expectReady(t, second, "6.0.0")
}

// Deleting a FluxApp that stood behind a foreign object leaves that alone.
func TestDeletionSparesWhatIsForeign(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "foreign")
	foreign := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: "example"}, Spec: helmv2.HelmReleaseSpec{
		Suspend: true,
		Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "theirs",
			SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "theirs"}}}}}
	p.create(t, foreign)
	app := p.app(t, "example", "https://127.0.0.1:1/podinfo", "6.0.0")
	p.expectFailed(t, app, "NameConflict", "HelmRelease")
	NewWithT(t).Expect(p.Client().Delete(t.Context(), app)).To(Succeed())
	p.expectGone(t, app, "HelmRelease")
	p.fetch(t, foreign)
}
