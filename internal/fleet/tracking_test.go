// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestTrackingRef(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name                      string
		ref, tag, semver, branch  string
		expectedRef, expectedForm string
	}{
		{name: "nothing is master", expectedRef: "refs/heads/master"},
		{name: "a branch", branch: "main", expectedRef: "refs/heads/main"},
		{name: "a branch with slashes", branch: "release/1.x", expectedRef: "refs/heads/release/1.x"},
		{name: "a name under refs/heads", ref: "refs/heads/main", expectedRef: "refs/heads/main"},
		{name: "the name beats all others", ref: "refs/heads/main", tag: "v1", semver: "1.x", branch: "b", expectedRef: "refs/heads/main"},
		{name: "a tag by name is not sequenced", ref: "refs/tags/v1", branch: "b", expectedForm: "name: refs/tags/v1"},
		{name: "a pull request is not sequenced", ref: "refs/pull/1/head", expectedForm: "name: refs/pull/1/head"},
		{name: "an empty branch name is none", ref: "refs/heads/", expectedForm: "name: refs/heads/"},
		{name: "the tag beats semver and branch", tag: "v1", semver: "1.x", branch: "b", expectedForm: "tag: v1"},
		{name: "semver beats the branch", semver: "1.x", branch: "b", expectedForm: "semver: 1.x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ref, form := TrackingRef(tt.ref, tt.tag, tt.semver, tt.branch)
			g.Expect(ref).To(Equal(tt.expectedRef))
			g.Expect(form).To(Equal(tt.expectedForm))
		})
	}
}
