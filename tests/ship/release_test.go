// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"os/exec"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
)

// tagOf is the release that the overlays name.
func tagOf(t testing.TB) string {
	t.Helper()
	return only[sourcev1.GitRepository](t, build(t, "config/flux"), sourcev1.GitRepositoryKind).Spec.Reference.Tag
}

// installer runs the command that `make build-installer` runs.
func installer(t testing.TB, overlay string, args ...string) string {
	t.Helper()
	return installerOf(t, repository(t), overlay, args...)
}

// installerOf does so in another work tree.
func installerOf(t testing.TB, worktree, overlay string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"run", "-buildvcs=false", "./hack/release/installer", "--overlay", overlay}, args...)...)
	cmd.Dir = worktree
	out, err := cmd.Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// TestOneVersion finds the same release in everything that names one.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tag := tagOf(t)
	g.Expect(tag).To(MatchRegexp(`^v\d+\.\d+\.\d+(-[0-9a-z.]+)?$`))
	deployment := only[appsv1.Deployment](t, build(t, "config/manager"), "Deployment")
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":" + tag))
}
