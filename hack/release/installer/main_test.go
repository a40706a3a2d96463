// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func build(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	NewWithT(t).Expect(run(append([]string{"--overlay", "../../../config/default"}, args...), &out)).To(Succeed())
	return out.String()
}

// TestImage replaces the manager's image, however it is named.
func TestImage(t *testing.T) {
	t.Parallel()
	tests := []struct{ image, want string }{
		{image: "", want: "image: ghcr.io/isometry/wavefront-controller:v"},
		{image: "localhost:5000/wavefront", want: "image: localhost:5000/wavefront:latest\n"},
		{image: "localhost:5000/wavefront:dev", want: "image: localhost:5000/wavefront:dev\n"},
		{image: "example.com/w@sha256:abcd", want: "image: example.com/w@sha256:abcd\n"},
		{image: "example.com/w:v1@sha256:abcd", want: "image: example.com/w:v1@sha256:abcd\n"},
	}
	for _, tt := range tests {
		t.Run(tt.image, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(build(t, "--image", tt.image)).To(ContainSubstring(tt.want))
		})
	}
}

// TestVersion labels every object.
func TestVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	content := build(t, "--version", "v9.9.9")
	count := func(text string) int { return bytes.Count([]byte(content), []byte(text)) }
	g.Expect(count("    app.kubernetes.io/version: v9.9.9\n")).To(Equal(count("\nkind: ")))
}

// TestDefinitions takes the two halves apart.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(build(t, "--definitions", "only")).To(And(ContainSubstring("CustomResourceDefinition"), Not(ContainSubstring("Deployment"))))
	g.Expect(build(t, "--definitions", "without")).To(And(Not(ContainSubstring("CustomResourceDefinition")), ContainSubstring("Deployment")))
}

// TestOutput writes a file, and its folder.
func TestOutput(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "dist", "install.yaml")
	build(t, "--output", path)
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(Equal(build(t)))
}

// TestBadInput names the flag that is wrong.
func TestBadInput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, wantErr string
		args          []string
	}{
		{name: "overlay", args: []string{"--overlay", "testdata/none"}, wantErr: `failed to build overlay "testdata/none"`},
		{name: "image", args: []string{"--overlay", "../../../config/default", "--image", "a b"}, wantErr: "--image"},
		{name: "definitions", args: []string{"--definitions", "some"}, wantErr: "--definitions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(run(tt.args, &bytes.Buffer{})).To(MatchError(ContainSubstring(tt.wantErr)))
		})
	}
}
