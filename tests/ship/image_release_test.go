// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build release

package ship

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestReleaseBuildStage runs the builder's instructions as they are, in a copy of the
// context, and finds the very bytes that `make ko-build` puts into its image.
func TestReleaseBuildStage(t *testing.T) {
	for _, image := range imagesOf(t, firstBuild(t)) {
		t.Run(image.config.Architecture, func(t *testing.T) {
			g := NewWithT(t)
			binary := buildStage(t, image.config.Architecture)
			g.Expect(sum(t, binary)).To(Equal(sum(t, image.entrypoint(t))))
		})
	}
}

// buildStage returns the program that the builder leaves for an architecture.
func buildStage(t *testing.T, architecture string) string {
	t.Helper()
	g := NewWithT(t)
	workspace, out := t.TempDir(), t.TempDir()
	environment := append(os.Environ(), "GOFLAGS=", "TARGETOS=linux", "TARGETARCH="+architecture, "VERSION="+imageVersion)
	for _, one := range dockerfile(t) {
		if one.stage != 0 {
			continue
		}
		switch one.name {
		case "COPY":
			copyInto(t, workspace, one.arguments)
		case "ENV":
			environment = append(environment, one.arguments)
		case "RUN":
			cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(one.arguments, "/out/", out+"/"))
			cmd.Dir, cmd.Env = workspace, environment
			output, err := cmd.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", one.arguments, output)
		}
	}
	return filepath.Join(out, "wavefront-controller")
}

func copyInto(t *testing.T, workspace, arguments string) {
	t.Helper()
	g := NewWithT(t)
	fields := strings.Fields(arguments)
	target := filepath.Join(workspace, fields[len(fields)-1])
	g.Expect(os.MkdirAll(target, 0o755)).To(Succeed())
	for _, source := range fields[:len(fields)-1] {
		found, err := filepath.Glob(filepath.Join(repository(t), source))
		g.Expect(err).NotTo(HaveOccurred())
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				g.Expect(os.CopyFS(target, os.DirFS(path))).To(Succeed())
				continue
			}
			content, err := os.ReadFile(path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(filepath.Join(target, filepath.Base(path)), content, 0o600)).To(Succeed())
		}
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// TestReleaseImageIsReproducible builds once more, and finds the same digest.
func TestReleaseImageIsReproducible(t *testing.T) {
	NewWithT(t).Expect(koBuild(t, t.TempDir())).To(Equal(firstBuild(t).reference))
}

// TestReleaseImageConfig inspects what an engine reads, for every platform.
func TestReleaseImageConfig(t *testing.T) {
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	images := imagesOf(t, firstBuild(t))
	NewWithT(t).Expect(images).To(HaveLen(len(machines)))
	for _, image := range images {
		t.Run(image.config.Architecture, func(t *testing.T) {
			g := NewWithT(t)
			machine, known := machines[image.config.Architecture]
			g.Expect(known).To(BeTrue())
			config := image.config.Config
			g.Expect(image.config.OS).To(Equal("linux"))
			g.Expect(config.User).To(Equal("65534:65534"))
			g.Expect(config.Entrypoint).To(Equal([]string{"/usr/local/bin/wavefront-controller"}))
			g.Expect(config.Cmd).To(BeEmpty())
			g.Expect(config.Labels).To(And(
				HaveKeyWithValue("org.opencontainers.image.version", imageVersion),
				HaveKeyWithValue("org.opencontainers.image.licenses", "Apache-2.0"),
				HaveKey("org.opencontainers.image.title"), HaveKey("org.opencontainers.image.source"),
				HaveKey("org.opencontainers.image.revision")))

			program, err := elf.Open(image.entrypoint(t))
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = program.Close() }()
			g.Expect(program.Machine).To(Equal(machine))
			libraries, err := program.ImportedLibraries()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(libraries).To(BeEmpty(), "the image has none")
			for _, segment := range program.Progs {
				g.Expect(segment.Type).NotTo(Equal(elf.PT_INTERP), "the image has no loader")
			}
		})
	}
}
