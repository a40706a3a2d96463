// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestTargetsCarryPins: the observer learns what is pinned, really or virtually, and
// what was before.
func TestTargetsCarryPins(t *testing.T) {
	t.Parallel()
	pinned, floating := aSource("pinned", shaB), aSource("floating", shaA)
	pinned.Spec.Reference.Commit = shaB
	pinned.Annotations = map[string]string{
		wavefrontv1.PinnedCommitAnnotation: shaB, wavefrontv1.PreviousPinAnnotation: shaA,
		wavefrontv1.ObservedRefAnnotation: "refs/heads/main",
	}
	moved := pinned.DeepCopy()
	moved.Name, moved.UID, moved.Spec.Reference.Branch = "moved", "source-moved", "other"
	r := newRig(t, aWavefront("fleet", wavefrontv1.ModeShadow), pinned, moved, floating,
		aNode("pinned", "fleet", shaB), aNode("moved", "fleet", shaB), aNode("floating", "fleet", shaA))
	j, _ := r.judge()
	pins := map[string][]fleet.Revision{}
	for _, target := range targets(j) {
		pins[target.Source.Name] = []fleet.Revision{target.Pin, target.Previous}
	}
	r.Expect(pins).To(HaveKeyWithValue("pinned", []fleet.Revision{shaB, shaA}))
	r.Expect(pins).To(HaveKeyWithValue("moved", []fleet.Revision{shaB, ""}), "its record is void")
	r.Expect(pins).To(HaveKeyWithValue("floating", []fleet.Revision{shaA, ""}))
}
