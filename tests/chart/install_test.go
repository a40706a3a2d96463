// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	"github.com/isometry/wavefront-controller/tests/ship/kubelet"
)

const (
	patience   = 4 * time.Minute
	glance     = 200 * time.Millisecond
	definition = "wavefronts.wavefront.as-code.io"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// newCluster starts a control plane without our definitions, whose Deployments run.
func newCluster(t *testing.T) (*env.Env, *kubelet.Kubelet, *action.Configuration) {
	t.Helper()
	g := NewWithT(t)
	binary, err := kubelet.Build(t.Context(), root, t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	e := env.ForTest(t, env.Options{})
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definition}}
	g.Expect(e.Client().Delete(t.Context(), crd)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(e.Client().Get(t.Context(), client.ObjectKeyFromObject(crd), crd))
	}, patience, glance).Should(BeTrue())

	settings := cli.New()
	settings.KubeConfig = e.Kubeconfig()
	settings.SetNamespace(namespace)
	config := &action.Configuration{}
	g.Expect(config.Init(settings.RESTClientGetter(), namespace, "secret", t.Logf)).To(Succeed())
	return e, kubelet.Run(t, e, kubelet.BinaryOf(binary)), config
}

// TestInstallUpgradeUninstall is the whole life of a release: the controller runs under
// the roles of the chart, an upgrade replaces it and leaves the definitions and their
// objects, and so does uninstalling.
func TestInstallUpgradeUninstall(t *testing.T) {
	g := NewWithT(t)
	e, running, config := newCluster(t)

	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace = release, namespace
	installed, err := install.RunWithContext(t.Context(), load(t), map[string]any{})
	g.Expect(err).NotTo(HaveOccurred())
	expectRuns(t, e, running, load(t).AppVersion())

	_, rest, _ := strings.Cut(installed.Info.Notes, "<<'EOF'\n")
	manifest, _, _ := strings.Cut(rest, "  EOF\n")
	objs, err := env.Decode([]byte(dedent(manifest)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Apply(t.Context(), objs...)).To(Succeed())
	expectEvaluated(t, e, "")
	before := identities(t, e)

	upgrade := action.NewUpgrade(config)
	upgrade.Namespace = namespace
	_, err = upgrade.RunWithContext(t.Context(), release, load(t), values(t, "image: {tag: v0.2.0}\nlog: {level: debug}"))
	g.Expect(err).NotTo(HaveOccurred())
	expectRuns(t, e, running, "v0.2.0")
	g.Expect(identities(t, e)).To(Equal(before), "the upgrade replaced a definition or an object")
	expectEvaluated(t, e, "after-upgrade")

	uninstall := action.NewUninstall(config)
	_, err = uninstall.Run(release)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(identities(t, e)).To(Equal(before), "uninstalling removed a definition or an object")
	err = e.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: release}, &appsv1.Deployment{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}

// expectRuns does what `kubectl rollout status` does. (Helm's own wait looks for
// ReplicaSets, which nobody makes here.)
func expectRuns(t *testing.T, e *env.Env, running *kubelet.Kubelet, tag string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		var deployment appsv1.Deployment
		g.Expect(e.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: release}, &deployment)).To(Succeed())
		g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
		g.Expect(deployment.Status.AvailableReplicas).To(BeEquivalentTo(1))
		g.Expect(running.Image()).To(Equal("ghcr.io/isometry/wavefront-controller:" + tag))
	}, patience, glance).Should(Succeed())
}

// expectEvaluated waits for the Wavefront of the notes; a request makes sure that it is
// the present controller that answers.
func expectEvaluated(t *testing.T, e *env.Env, request string) {
	t.Helper()
	g := NewWithT(t)
	wavefront := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
	if request != "" {
		before := wavefront.DeepCopy()
		wavefront.Annotations = map[string]string{fluxmeta.ReconcileRequestAnnotation: request}
		g.Expect(e.Client().Patch(t.Context(), wavefront, client.MergeFrom(before))).To(Succeed())
	}
	g.Eventually(func(g Gomega) {
		g.Expect(e.Client().Get(t.Context(), client.ObjectKeyFromObject(wavefront), wavefront)).To(Succeed())
		g.Expect(apimeta.IsStatusConditionTrue(wavefront.Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue())
		g.Expect(wavefront.Status.LastHandledReconcileAt).To(Equal(request))
	}, patience, glance).Should(Succeed())
}

// identities returns the UIDs of the definition and the Wavefront; none may be on its
// way out.
func identities(t *testing.T, e *env.Env) map[string]types.UID {
	t.Helper()
	g := NewWithT(t)
	var crd apiextensionsv1.CustomResourceDefinition
	var wavefront wavefrontv1.Wavefront
	g.Expect(e.Client().Get(t.Context(), client.ObjectKey{Name: definition}, &crd)).To(Succeed())
	g.Expect(e.Client().Get(t.Context(), client.ObjectKey{Name: "fleet"}, &wavefront)).To(Succeed())
	g.Expect(crd.DeletionTimestamp).To(BeNil())
	g.Expect(wavefront.DeletionTimestamp).To(BeNil())
	return map[string]types.UID{"definition": crd.UID, "wavefront": wavefront.UID}
}

// TestFilesAreTheOverlays finds the generated files current.
func TestFilesAreTheOverlays(t *testing.T) {
	t.Parallel()
	for file, overlay := range map[string]string{
		"crds.yaml": "config/crd", "rbac.yaml": "config/rbac", "network-policy.yaml": "config/network-policy",
		"fluxapp-crds.yaml": "config/fluxapp/crd", "fluxapp-rbac.yaml": "config/fluxapp/rbac",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			content, err := os.ReadFile(filepath.Join(root, "charts/wavefront-controller/files", file))
			g.Expect(err).NotTo(HaveOccurred())
			objs, err := env.Decode(content)
			g.Expect(err).NotTo(HaveOccurred())
			built, err := env.BuildKustomization(filepath.Join(root, overlay))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objs).To(Equal(built), "run `make chart`")
		})
	}
}
