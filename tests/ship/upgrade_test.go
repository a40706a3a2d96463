// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/tests/ship/kubelet"
)

// shipped are the paths that make up what is installed.
var shipped = []string{"main.go", "options.go", "api", "internal", "config", "hack/release/installer"}

// previousRelease unpacks the commit before the last one that changed what is shipped.
func previousRelease(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	root, folder := repository(t), t.TempDir()
	list := exec.Command("git", append([]string{"rev-list", "-1", "--skip=1", "HEAD", "--"}, shipped...)...)
	list.Dir = root
	commit, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(commit).NotTo(BeEmpty(), "the history is cut off: fetch it whole")
	archive := exec.Command("git", "archive", "--format=tar", "--output="+folder+"/tree.tar", strings.TrimSpace(string(commit)))
	archive.Dir = root
	out, err := archive.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	tree := filepath.Join(folder, "tree")
	g.Expect(os.Mkdir(tree, 0o755)).To(Succeed())
	out, err = exec.Command("tar", "-x", "-f", folder+"/tree.tar", "-C", tree).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	return tree
}

// TestUpgradeDuringRollout replaces the controller of the previous commit, by the
// installer of this one, when the first of three pins has moved. The order holds, and
// nothing moves twice.
func TestUpgradeDuringRollout(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tree := previousRelease(t)
	previous, err := kubelet.Build(t.Context(), tree, t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	s := newSiteWith(t, func(image string) (string, error) {
		switch {
		case strings.HasSuffix(image, ":previous"):
			return previous, nil
		case strings.HasSuffix(image, ":next"):
			return manager()
		default:
			return "", fmt.Errorf("no program for image %q", image)
		}
	})
	s.deploy(t, installerOf(t, tree, "config/default", "--image", "example.com/wavefront:previous"))
	fleet := s.exampleFleet(t)
	fleet.enforce(t)
	g.Expect(s.Image()).To(HaveSuffix(":previous"))

	moved := fleet.followPins(t)
	pushed := fleet.pushAll(t)
	g.Eventually(moved, patience, glance).ShouldNot(BeEmpty())
	s.deploy(t, installer(t, "config/default", "--image", "example.com/wavefront:next"))
	g.Eventually(s.Image, patience, glance).Should(HaveSuffix(":next"))
	fleet.expectRolledOut(t, pushed)
	g.Expect(moved()).To(Equal(flotillaNames))
}
