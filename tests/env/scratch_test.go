// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSweepRemovesWhatNobodyUses(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("TMPDIR", t.TempDir())
	used, err := newScratch()
	g.Expect(err).NotTo(HaveOccurred())
	kept, err := newScratch()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.keep()).To(Succeed())
	dead, err := newScratch()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dead.lock.Close()).To(Succeed(), "as the end of a process does")
	other := filepath.Join(os.TempDir(), "wavefront-env-other")
	g.Expect(os.Mkdir(other, 0o755)).To(Succeed())

	sweepScratch(os.TempDir())
	g.Expect(used.dir).To(BeADirectory())
	g.Expect(kept.dir).To(BeADirectory())
	g.Expect(other).To(BeADirectory())
	g.Expect(dead.dir).NotTo(BeADirectory())

	g.Expect(used.remove()).To(Succeed())
	g.Expect(used.dir).NotTo(BeADirectory())
	g.Expect(kept.remove()).To(Succeed())
	g.Expect(kept.dir).To(BeADirectory())
}
