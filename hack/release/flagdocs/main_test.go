// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const help = `Usage of manager:
      --concurrent int          The number | of reconciles. (default 4)
      --enable-leader-election  Elect a leader.
  -h, --help                    Print this.
`

func TestTableOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	table, err := tableOf(strings.NewReader(help))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(table).To(HaveSuffix("| `--concurrent` | int | The number \\| of reconciles. (default 4) |\n" +
		"| `--enable-leader-election` | boolean | Elect a leader. |\n| `--help` | boolean | Print this. |\n"))
	_, err = tableOf(strings.NewReader("panic: no\n"))
	g.Expect(err).To(MatchError(ContainSubstring("failed to find a flag")))
}

func TestRun(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	document := filepath.Join(t.TempDir(), "README.md")
	g.Expect(os.WriteFile(document, []byte("above\n"+begin+"old\n"+end+"below\n"), 0o600)).To(Succeed())
	g.Expect(run(strings.NewReader(help), document)).To(Succeed())
	content, err := os.ReadFile(document)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(And(HavePrefix("above\n"+begin+"| Name |"), HaveSuffix(end+"below\n"), Not(ContainSubstring("old"))))
	g.Expect(os.WriteFile(document, []byte("nothing\n"), 0o600)).To(Succeed())
	g.Expect(run(strings.NewReader(help), document)).To(MatchError(ContainSubstring("failed to find the table")))
}
