// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// TestUninstallLeavesWhatOthersPinned: without a controller, too, only the
// controller's own pins float; another manager's is somebody's intent, whether or
// not the hold was noticed while there was a controller.
func TestUninstallLeavesWhatOthersPinned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := quiescent()
	f.wavefront.Finalizers = []string{wavefrontv1.WavefrontFinalizer}
	f.wavefront.Spec.ReleasePolicy = wavefrontv1.ReleaseFloat
	f.source("flotillas/edited-repo", "kubectl-edit")
	f.source("flotillas/shared-repo", "some-tool", wavefrontv1.FieldManager)
	c := writable(f)
	r := wfctl(t, c, "uninstall", "--yes", "--timeout", time.Millisecond.String())
	g.Expect(r.code).To(Equal(ExitSuccess), r.stderr)
	g.Expect(sourceOf(t, c, "flotillas/app-repo").Spec.Reference.Commit).To(BeEmpty(), "releasePolicy Float")
	for _, name := range []string{"edited-repo", "shared-repo"} {
		o := sourceOf(t, c, "flotillas/"+name)
		g.Expect(o.Spec.Reference.Commit).To(Equal(commit("a")), name)
		g.Expect(o.Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation), name)
		g.Expect(r.stderr).To(ContainSubstring("flotillas/" + name + " stays at"))
	}
}
