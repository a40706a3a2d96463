// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// makeTarget runs a target of the makefile with the tools of the other commands.
func (s *shell) makeTarget(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("make", arguments...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "KUBECONFIG="+s.Kubeconfig(), "GOBIN="+s.folder)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestMakeDeploy deploys and removes as a developer does; the definitions are not
// removed while there is a Wavefront.
func TestMakeDeploy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newShell(t)
	s.removeDefinition(t)
	succeed := func(arguments ...string) {
		out, err := s.makeTarget(t, arguments...)
		g.Expect(err).NotTo(HaveOccurred(), out)
	}

	succeed("install")
	wavefront := &wavefrontv1.Wavefront{}
	wavefront.Name = "fleet"
	wavefront.Spec.Nodes.Kinds = []wavefrontv1.NodeKind{wavefrontv1.NodeKindKustomization}
	wavefront.Spec.Nodes.Selector.MatchLabels = map[string]string{wavefrontv1.ManagedLabel: "true"}
	g.Eventually(func() error { return s.Client().Create(t.Context(), wavefront) }, patience, glance).Should(Succeed())
	succeed("deploy", "IMG=example.com/wavefront-controller:dev")
	g.Eventually(s.Image, patience, glance).Should(Equal("example.com/wavefront-controller:dev"))
	g.Eventually(func(g Gomega) {
		g.Expect(s.Client().Get(t.Context(), client.ObjectKeyFromObject(wavefront), wavefront)).To(Succeed())
		g.Expect(wavefront.Status.LastEvaluated).NotTo(BeNil())
	}, patience, glance).Should(Succeed())

	out, err := s.makeTarget(t, "uninstall")
	g.Expect(err).To(HaveOccurred(), "there is a Wavefront")
	g.Expect(out).To(ContainSubstring("there are Wavefronts"))
	g.Expect(s.Client().Delete(t.Context(), wavefront)).To(Succeed())
	g.Eventually(func() error {
		return client.IgnoreNotFound(s.Client().Get(t.Context(), client.ObjectKeyFromObject(wavefront), wavefront))
	}, patience, glance).Should(Succeed())
	succeed("undeploy")
	g.Eventually(s.Image, patience, glance).Should(BeEmpty())
	succeed("uninstall")
}

// TestMakeRelease writes the files that a release publishes, and installs wfctl with
// its links.
func TestMakeRelease(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folder := t.TempDir()
	cmd := exec.Command("make", "build-installer", "install-wfctl", "VERSION=v9.9.9", "DIST="+folder, "BIN="+t.TempDir(),
		// The flags of the other tests, so that what they compiled is used again.
		"IMG=example.com/w:v9.9.9", "GO_BUILD_FLAGS=-buildvcs=false")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOBIN="+folder)
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	installed, err := os.ReadFile(filepath.Join(folder, "install.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(installed)).To(And(ContainSubstring("image: example.com/w:v9.9.9\n"), ContainSubstring("app.kubernetes.io/version: v9.9.9\n")))
	for _, name := range []string{"crds.yaml", "flux.yaml"} {
		g.Expect(filepath.Join(folder, name)).To(BeAnExistingFile())
	}
	for _, name := range []string{"wfctl", "kubectl-wavefront", "flux-wavefront"} {
		version, err := exec.Command(filepath.Join(folder, name), "--version").Output()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(version)).To(Equal("v9.9.9\n"))
	}
}
