// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTableOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, values, want, wantErr string
	}{
		{
			name:   "nested, with a comment of two lines",
			values: "a:\n  # -- First | and\n  # second.\n  b: \"\"\n# -- Whole.\nc:\n  d: 1\n",
			want:   "| `a.b` | `\"\"` | First \\| and second. |\n| `c` | `{\"d\":1}` | Whole. |\n",
		},
		{name: "undocumented", values: "a:\n  b: 1\n", wantErr: `value "a.b" has no comment`},
		{name: "not YAML", values: "a: [", wantErr: "failed to parse the values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			table, err := tableOf([]byte(tt.values))
			if tt.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(table).To(HaveSuffix(tt.want))
		})
	}
}

// TestReadmeIsCurrent fails when the values changed and the README did not.
func TestReadmeIsCurrent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const shipped = "../../../charts/wavefront-controller"
	copied := t.TempDir()
	for _, name := range []string{"values.yaml", "README.md"} {
		content, err := os.ReadFile(filepath.Join(shipped, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(copied, name), content, 0o600)).To(Succeed())
	}
	before, err := os.ReadFile(filepath.Join(copied, "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run(copied)).To(Succeed())
	after, err := os.ReadFile(filepath.Join(copied, "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(after)).To(Equal(string(before)), "run `make chart`")
}
