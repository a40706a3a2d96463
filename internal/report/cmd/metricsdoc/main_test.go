// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

func TestDocumentIsUpToDate(t *testing.T) {
	t.Chdir("../../../..")
	g := NewWithT(t)
	want, err := render()
	g.Expect(err).NotTo(HaveOccurred())
	got, err := os.ReadFile("docs/metrics.md")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal(string(want)), "run `make metrics-docs`")
}
