// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/isometry/wavefront-controller/tests/env"
)

const (
	release   = "wavefront-controller"
	namespace = "flux-system"
	root      = "../.."
)

func load(t testing.TB) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(filepath.Join(root, "charts", "wavefront-controller"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return loaded
}

// values parses YAML as a user writes it.
func values(t testing.TB, text string) map[string]any {
	t.Helper()
	parsed := map[string]any{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(text), &parsed)).To(Succeed())
	return parsed
}

// render does what `helm template` does.
func render(t testing.TB, text string) (manifest, notes string, err error) {
	t.Helper()
	return renderInto(t, namespace, text)
}

func renderInto(t testing.TB, namespace, text string) (manifest, notes string, err error) {
	t.Helper()
	install := action.NewInstall(&action.Configuration{})
	install.ClientOnly, install.DryRun = true, true
	install.ReleaseName, install.Namespace = release, namespace
	install.KubeVersion = &chartutil.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
	rendered, err := install.Run(load(t), values(t, text))
	if err != nil {
		return "", "", err
	}
	return rendered.Manifest, rendered.Info.Notes, nil
}

func decode(t testing.TB, manifest string) map[string]*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	objs, err := env.Decode([]byte(manifest))
	g.Expect(err).NotTo(HaveOccurred())
	named := map[string]*unstructured.Unstructured{}
	for _, obj := range objs {
		strip(obj)
		key := obj.GetKind() + "/" + obj.GetNamespace() + "/" + obj.GetName()
		g.Expect(named).NotTo(HaveKey(key), "rendered twice")
		named[key] = obj
	}
	return named
}

// strip removes what Helm marks its objects with.
func strip(obj *unstructured.Unstructured) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	for _, label := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
		delete(labels, label)
	}
	delete(annotations, "helm.sh/resource-policy")
	obj.SetLabels(labels)
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
}

// TestChartIsTheOverlay compares, object by object, what the chart renders with what
// the overlays build.
func TestChartIsTheOverlay(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, overlay, values string }{
		{name: "default", overlay: "config/flux-system"},
		{name: "FluxApp", overlay: "config/fluxapp", values: "fluxApp: {enabled: true}"},
		{name: "without network policy", overlay: "config/default", values: "networkPolicy: {enabled: false}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			manifest, _, err := render(t, tt.values)
			g.Expect(err).NotTo(HaveOccurred())
			rendered := decode(t, manifest)
			built, err := env.BuildKustomization(filepath.Join(root, tt.overlay))
			g.Expect(err).NotTo(HaveOccurred())
			wanted := map[string]*unstructured.Unstructured{}
			for _, obj := range built {
				wanted[obj.GetKind()+"/"+obj.GetNamespace()+"/"+obj.GetName()] = obj
			}
			g.Expect(keys(rendered)).To(ConsistOf(keys(wanted)))
			for key, want := range wanted {
				g.Expect(rendered[key].Object).To(Equal(want.Object), key)
			}
		})
	}
}

func keys(objs map[string]*unstructured.Unstructured) []string {
	var list []string
	for key := range maps.Keys(objs) {
		list = append(list, key)
	}
	return list
}

// TestPodMonitorIsTheOverlays compares the chart's with the one of config/monitoring.
func TestPodMonitorIsTheOverlays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	manifest, _, err := render(t, "podMonitor: {enabled: true}")
	g.Expect(err).NotTo(HaveOccurred())
	rendered := decode(t, manifest)["PodMonitor/"+namespace+"/wavefront-controller"]
	g.Expect(rendered).NotTo(BeNil())
	rendered.SetNamespace("")
	content, err := os.ReadFile(filepath.Join(root, "config/monitoring/podmonitor.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	shipped, err := env.Decode(content)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shipped).To(HaveLen(1))
	g.Expect(rendered.Object).To(Equal(shipped[0].Object))
}

// TestReplicasHaveABudget finds one for several replicas, which selects the pods of the
// Deployment, and none for one.
func TestReplicasHaveABudget(t *testing.T) {
	t.Parallel()
	for replicas, want := range map[int]bool{0: false, 1: false, 2: true} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			manifest, _, err := render(t, fmt.Sprintf("replicas: %d", replicas))
			g.Expect(err).NotTo(HaveOccurred())
			rendered := decode(t, manifest)
			budget := rendered["PodDisruptionBudget/"+namespace+"/wavefront-controller"]
			if !want {
				g.Expect(budget).To(BeNil())
				return
			}
			g.Expect(budget).NotTo(BeNil())
			selector, _, err := unstructured.NestedMap(budget.Object, "spec", "selector")
			g.Expect(err).NotTo(HaveOccurred())
			selected, _, err := unstructured.NestedMap(rendered["Deployment/"+namespace+"/wavefront-controller"].Object, "spec", "selector")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(selector).To(Equal(selected))
		})
	}
}

// TestDefinitionsAreKept finds Helm's policy on every definition, and on nothing else.
func TestDefinitionsAreKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	manifest, _, err := render(t, "fluxApp: {enabled: true}")
	g.Expect(err).NotTo(HaveOccurred())
	objs, err := env.Decode([]byte(manifest))
	g.Expect(err).NotTo(HaveOccurred())
	for _, obj := range objs {
		_, kept := obj.GetAnnotations()["helm.sh/resource-policy"]
		g.Expect(kept).To(Equal(obj.GetKind() == "CustomResourceDefinition"), "%s %s", obj.GetKind(), obj.GetName())
	}
}

// TestOtherNamespace moves everything to the release's namespace, the subjects of the
// bindings included.
func TestOtherNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	manifest, _, err := renderInto(t, "elsewhere", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest).NotTo(ContainSubstring("namespace: " + namespace))
	g.Expect(manifest).To(ContainSubstring("http://notification-controller.elsewhere.svc.cluster.local./"))
}

// TestVersions holds the chart to the release that the overlays name.
func TestVersions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	metadata := load(t).Metadata
	g.Expect("v" + metadata.Version).To(Equal(metadata.AppVersion))
	content, err := os.ReadFile(filepath.Join(root, "config/manager/kustomization.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(ContainSubstring("newTag: " + metadata.AppVersion + "\n"))
}
