// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

const (
	component = "wavefront-controller"
	namespace = "flux-system"
)

// repository is the root of the work tree.
func repository(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// build builds an overlay of the work tree, as `kubectl kustomize` does.
func build(t testing.TB, overlay string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
		Run(filesys.MakeFsOnDisk(), filepath.Join(repository(t), overlay))
	g.Expect(err).NotTo(HaveOccurred())
	return objects(t, built)
}

func objects(t testing.TB, built resmap.ResMap) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	var objs []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		g.Expect(err).NotTo(HaveOccurred())
		objs = append(objs, &unstructured.Unstructured{Object: content})
	}
	return objs
}

// only returns the single object of a kind, as its type.
func only[T any](t testing.TB, objs []*unstructured.Unstructured, kind string) T {
	t.Helper()
	g := NewWithT(t)
	var found []T
	for _, obj := range objs {
		if obj.GetKind() != kind {
			continue
		}
		var typed T
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, &typed, true)).To(Succeed())
		found = append(found, typed)
	}
	g.Expect(found).To(HaveLen(1), "objects of kind %s", kind)
	return found[0]
}

// overlays returns every folder under config with a kustomization that is not a
// component.
func overlays(t testing.TB) []string {
	t.Helper()
	g := NewWithT(t)
	var found []string
	root := repository(t)
	g.Expect(filepath.WalkDir(filepath.Join(root, "config"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "kustomization.yaml" {
			return err
		}
		if readYAML(t, path)["kind"] == "Component" {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		found = append(found, rel)
		return err
	})).To(Succeed())
	g.Expect(found).NotTo(BeEmpty())
	return found
}

func readYAML(t testing.TB, path string) map[string]any {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	var parsed map[string]any
	g.Expect(yaml.Unmarshal(content, &parsed)).To(Succeed())
	return parsed
}

// TestOverlaysBuild builds every overlay and holds it to what all of them promise.
func TestOverlaysBuild(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays(t) {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			objs := build(t, overlay)
			g.Expect(objs).NotTo(BeEmpty())
			for _, obj := range objs {
				g.Expect(obj.GetLabels()).NotTo(HaveKeyWithValue("app.kubernetes.io/part-of", "flux"),
					"%s %s would be deleted by `flux uninstall`", obj.GetKind(), obj.GetName())
				g.Expect(obj.GetKind()).NotTo(Equal("Namespace"),
					"deleting the overlay would delete a namespace that is Flux's")
				if obj.GetKind() == "CustomResourceDefinition" && strings.HasSuffix(obj.GetName(), wavefrontv1.GroupVersion.Group) {
					g.Expect(obj.GetAnnotations()).To(HaveKeyWithValue("kustomize.toolkit.fluxcd.io/prune", "disabled"))
				}
			}
		})
	}
}

// TestNothingIsForgotten finds manifests that no kustomization lists.
func TestNothingIsForgotten(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"config/crd/bases", "config/rbac", "config/manager", "config/flux", "config/samples", "config/network-policy"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			root := repository(t)
			list, prefix := filepath.Join(root, folder, "kustomization.yaml"), ""
			if filepath.Base(folder) == "bases" {
				list, prefix = filepath.Join(root, filepath.Dir(folder), "kustomization.yaml"), "bases/"
			}
			listed := readYAML(t, list)["resources"]
			files, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
			g.Expect(err).NotTo(HaveOccurred())
			for _, file := range files {
				if filepath.Base(file) == "kustomization.yaml" {
					continue
				}
				g.Expect(listed).To(ContainElement(prefix + filepath.Base(file)))
			}
		})
	}
}

// TestManager holds the Deployment to the family's contract.
func TestManager(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	deployment := only[appsv1.Deployment](t, build(t, "config/flux-system"), "Deployment")
	g.Expect(deployment.Namespace).To(Equal(namespace))
	pod := deployment.Spec.Template.Spec
	g.Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue("app", component))
	g.Expect(deployment.Spec.Selector.MatchLabels).To(Equal(map[string]string{"app": component}))
	g.Expect(pod.ServiceAccountName).To(Equal(component))
	g.Expect(pod.PriorityClassName).To(Equal("system-cluster-critical"))
	g.Expect(pod.Containers).To(HaveLen(1))

	manager := pod.Containers[0]
	g.Expect(manager.Args).To(HaveExactElements(
		HavePrefix("--events-addr="), Equal("--watch-all-namespaces"), HavePrefix("--log-level="),
		HavePrefix("--log-encoding="), Equal("--enable-leader-election")))
	g.Expect(manager.Image).To(MatchRegexp(`^ghcr\.io/isometry/wavefront-controller:v\d+\.\d+\.\d+$`))
	security := manager.SecurityContext
	g.Expect(*security.AllowPrivilegeEscalation).To(BeFalse())
	g.Expect(*security.ReadOnlyRootFilesystem).To(BeTrue())
	g.Expect(*security.RunAsNonRoot).To(BeTrue())
	g.Expect(security.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
	g.Expect(security.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
	for _, list := range []corev1.ResourceList{manager.Resources.Requests, manager.Resources.Limits} {
		g.Expect(list).To(And(HaveKey(corev1.ResourceCPU), HaveKey(corev1.ResourceMemory)))
	}
	env := map[string]*corev1.EnvVarSource{}
	for _, variable := range manager.Env {
		env[variable.Name] = variable.ValueFrom
	}
	g.Expect(env["GOMEMLIMIT"].ResourceFieldRef.Resource).To(Equal("limits.memory"))
	g.Expect(env["RUNTIME_NAMESPACE"].FieldRef.FieldPath).To(Equal("metadata.namespace"))
	g.Expect(manager.LivenessProbe.HTTPGet.Path).To(Equal("/healthz"))
	g.Expect(manager.ReadinessProbe.HTTPGet.Path).To(Equal("/readyz"))
}

// TestControllerIsBound finds the roles of the controller bound to its
// ServiceAccount, and nothing else bound to anyone.
func TestControllerIsBound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objs := build(t, "config/rbac")
	account := rbacv1.Subject{Kind: "ServiceAccount", Name: component, Namespace: namespace}
	cluster := only[rbacv1.ClusterRoleBinding](t, objs, "ClusterRoleBinding")
	g.Expect(cluster.RoleRef.Name).To(Equal(component))
	g.Expect(cluster.Subjects).To(ConsistOf(account))
	election := only[rbacv1.RoleBinding](t, objs, "RoleBinding")
	g.Expect(election.RoleRef.Name).To(Equal(only[rbacv1.Role](t, objs, "Role").Name))
	g.Expect(election.Subjects).To(ConsistOf(account))
	g.Expect(only[corev1.ServiceAccount](t, objs, "ServiceAccount").Name).To(Equal(component))
}

// TestSampleIsInShadow reads the sample as the API's type.
func TestSampleIsInShadow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sample := only[wavefrontv1.Wavefront](t, build(t, "config/samples"), wavefrontv1.WavefrontKind)
	g.Expect(sample.GetMode()).To(Equal(wavefrontv1.ModeShadow))
	g.Expect(sample.Spec.Nodes.Selector.MatchLabels).To(HaveKeyWithValue(wavefrontv1.ManagedLabel, "true"))
}
