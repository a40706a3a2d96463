// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
	"github.com/isometry/wavefront-controller/tests/ship/example"
)

const (
	installDocument = "docs/install.md"
	clusterPath     = example.ClusterPath
	release         = "v0.1.0"
)

// TestInstallDocument walks each of the three ways to install as a newcomer does, from
// a cluster with Flux and without anything of ours, and then the rest of the document.
func TestInstallDocument(t *testing.T) {
	t.Parallel()
	ways := []string{"As a Flux Kustomization of its own", "As a component of flux-system", "With Helm"}
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.removeDefinition(t)
			s.publish(t)
			s.cloneCluster(t)
			s.runAll(t, installDocument, func(b block) bool { return b.section == way })
			s.runAll(t, installDocument, func(b block) bool {
				for _, other := range ways {
					if b.section == other {
						return false
					}
				}
				return true
			})
		})
	}
}

// removeDefinition takes away what the control plane brings along for other tests.
func (s *shell) removeDefinition(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "wavefronts.wavefront.as-code.io"}}
	g.Expect(s.Client().Delete(t.Context(), crd)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(s.Client().Get(t.Context(), client.ObjectKeyFromObject(crd), crd))
	}, patience, glance).Should(BeTrue())
}

// publish puts a release where the document looks for it.
func (s *shell) publish(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	project, err := s.Git().Create(t.Context(), "wavefront-controller")
	g.Expect(err).NotTo(HaveOccurred())
	config, err := example.Files(filepath.Join(root, "config"), "config")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = project.Commit(t.Context(), "main", "Release", config)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = project.Tag(t.Context(), release, "main", "Release")
	g.Expect(err).NotTo(HaveOccurred())
	folder := "/isometry/wavefront-controller/releases/download/" + release
	site := releases(t, map[string]string{
		folder + "/install.yaml": installer(t, "config/flux-system"),
		folder + "/flux.yaml":    strings.ReplaceAll(installer(t, "config/flux"), published, project.URL()),
	})
	s.replace = append(s.replace, published+"/releases/download/"+release, site+folder)
}

func installer(t *testing.T, overlay string) string {
	t.Helper()
	cmd := exec.Command("go", "run", "./hack/release/installer", "--overlay", overlay)
	cmd.Dir = root
	out, err := cmd.Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// cloneCluster makes a repository as `flux bootstrap` leaves it, has Flux sync from it,
// and clones it to where the blocks are run.
func (s *shell) cloneCluster(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	cluster, err := s.Git().Create(t.Context(), "cluster")
	g.Expect(err).NotTo(HaveOccurred())
	// A short interval, in place of `flux reconcile`.
	sync := example.Sync(cluster.URL(), clusterPath, "5s")
	folder := clusterPath + "/flux-system/"
	_, err = cluster.Commit(t.Context(), "main", "Bootstrap", env.Files{
		folder + "gotk-components.yaml": "# What Flux itself needs; here it runs already.\n",
		folder + "gotk-sync.yaml":       sync,
		folder + "kustomization.yaml":   "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- gotk-components.yaml\n- gotk-sync.yaml\n",
	})
	g.Expect(err).NotTo(HaveOccurred())
	objs, err := env.Decode([]byte(sync))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Apply(t.Context(), objs...)).To(Succeed())
	out, err := exec.Command("git", "clone", "--quiet", cluster.Dir(), s.folder).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
}
