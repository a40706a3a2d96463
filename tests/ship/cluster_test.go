// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	"github.com/isometry/wavefront-controller/tests/ship/example"
	"github.com/isometry/wavefront-controller/tests/ship/kubelet"
)

const (
	// patience bounds the wait for anything that a control plane does.
	patience = 4 * time.Minute
	// glance is how often it is looked at.
	glance = 200 * time.Millisecond
)

// managerFolder receives the program of the work tree, compiled once for all tests.
var (
	managerFolder string
	manager       = sync.OnceValues(func() (string, error) {
		return kubelet.Build(context.Background(), filepath.Join("..", ".."), managerFolder)
	})
)

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	var err error
	if managerFolder, err = os.MkdirTemp("", "wavefront-ship-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(managerFolder) }()
	return m.Run()
}

// site is a cluster that Flux runs from a repository, as after `flux bootstrap`.
type site struct {
	*env.Env
	*kubelet.Kubelet
	// repository is the cluster's own.
	repository *env.Repository
}

// newSite starts a control plane whose Deployments run, with an empty repository. The
// controller is the work tree's, whatever the image.
func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteWith(t, func(string) (string, error) { return manager() })
}

// newSiteWith says which program an image is.
func newSiteWith(t *testing.T, binaryFor func(image string) (string, error)) *site {
	t.Helper()
	g := NewWithT(t)
	_, err := manager()
	g.Expect(err).NotTo(HaveOccurred())
	e := env.ForTest(t, env.Options{})
	repository, err := e.Git().Create(t.Context(), "cluster")
	g.Expect(err).NotTo(HaveOccurred())
	return &site{Env: e, Kubelet: kubelet.Run(t, e, binaryFor), repository: repository}
}

// bootstrap commits the cluster's repository and applies what `flux bootstrap` writes
// to gotk-sync.yaml: a source and a Kustomization named flux-system.
func (s *site) bootstrap(t *testing.T, path string, files env.Files) {
	t.Helper()
	g := NewWithT(t)
	_, err := s.repository.Commit(t.Context(), "main", "Bootstrap", files)
	g.Expect(err).NotTo(HaveOccurred())
	objs, err := env.Decode([]byte(example.Sync(s.repository.URL(), path, "1m0s")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Apply(t.Context(), objs...)).To(Succeed())
}

// commit changes the cluster's repository, and has Flux look at it now.
func (s *site) commit(t *testing.T, message string, files env.Files) {
	t.Helper()
	g := NewWithT(t)
	_, err := s.repository.Commit(t.Context(), "main", message, files)
	g.Expect(err).NotTo(HaveOccurred())
	s.requestReconcile(t, "flux-system", "flux-system")
}

// requestReconcile does what `flux reconcile source git` does.
func (s *site) requestReconcile(t *testing.T, namespace, name string) {
	t.Helper()
	source := &metav1.PartialObjectMetadata{}
	source.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind))
	source.Namespace, source.Name = namespace, name
	before := source.DeepCopy()
	source.SetAnnotations(map[string]string{fluxmeta.ReconcileRequestAnnotation: time.Now().Format(time.RFC3339Nano)})
	NewWithT(t).Expect(s.Client().Patch(t.Context(), source, client.MergeFrom(before))).To(Succeed())
}

// expectKustomization waits for a Kustomization of Flux to be Ready.
func (s *site) expectKustomization(t *testing.T, namespace, name string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		var node kustomizev1.Kustomization
		g.Expect(s.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &node)).To(Succeed())
		ready := apimeta.FindStatusCondition(node.Status.Conditions, fluxmeta.ReadyCondition)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
		g.Expect(ready.ObservedGeneration).To(Equal(node.Generation))
	}, patience, glance).Should(Succeed(), "Kustomization %s/%s", namespace, name)
}

// expectWavefront waits until a Wavefront satisfies check, and returns it.
func (s *site) expectWavefront(t *testing.T, name string, check func(Gomega, *wavefrontv1.Wavefront)) *wavefrontv1.Wavefront {
	t.Helper()
	var wavefront wavefrontv1.Wavefront
	NewWithT(t).Eventually(func(g Gomega) {
		wavefront = wavefrontv1.Wavefront{}
		g.Expect(s.Client().Get(t.Context(), client.ObjectKey{Name: name}, &wavefront)).To(Succeed())
		g.Expect(apimeta.IsStatusConditionTrue(wavefront.Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue(), "%v", wavefront.Status.Conditions)
		check(g, &wavefront)
	}, patience, glance).Should(Succeed(), "Wavefront %s", name)
	return &wavefront
}

// files reads a folder of the work tree as files of a repository; prefix is put before
// their paths.
func files(t testing.TB, folder, prefix string) env.Files {
	t.Helper()
	read, err := example.Files(filepath.Join(repository(t), folder), prefix)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return read
}
