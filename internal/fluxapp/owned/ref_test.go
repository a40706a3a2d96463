// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

func TestRefs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(ref("b").ID()).To(Equal("team_b__ConfigMap"))
	parsed, err := owned.ParseRef("team_b__ConfigMap", "v1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed).To(Equal(ref("b")))
	_, err = owned.ParseRef("nonsense", "v1")
	g.Expect(err).To(MatchError(ContainSubstring(`failed to parse inventory entry "nonsense"`)))

	union := owned.Union([]owned.Ref{ref("b"), ref("a")}, []owned.Ref{ref("b"), ref("c")})
	g.Expect(union).To(Equal([]owned.Ref{ref("a"), ref("b"), ref("c")}))
	g.Expect(owned.Without(union, []owned.Ref{ref("b")})).To(Equal([]owned.Ref{ref("a"), ref("c")}))
	g.Expect(owned.Subjects(union[:2])).To(Equal("ConfigMap team/a, ConfigMap team/b"))
}
