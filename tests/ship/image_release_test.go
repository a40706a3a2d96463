// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build release

package ship

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestBuildStage runs the builder's instructions as they are, in a copy of the context,
// and finds the very bytes that `make ko-build` puts into its image.
func TestBuildStage(t *testing.T) {
	g := NewWithT(t)
	workspace, out := t.TempDir(), t.TempDir()
	environment := append(os.Environ(), "GOFLAGS=", "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION=v1.2.3")
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
	binary := filepath.Join(out, "wavefront-controller")
	version, err := exec.Command(binary, "--version").Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(version)).To(Equal("v1.2.3\n"))
	g.Expect(sum(t, binary)).To(Equal(sum(t, fromImage(t))))
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

// fromImage runs `make ko-build`, and takes the manager out of the archive that an
// engine would load.
func fromImage(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	cmd := exec.Command("make", "ko-build", "VERSION=v1.2.3", "IMG=example.com/wavefront-controller:v1.2.3",
		"PLATFORMS=linux/"+runtime.GOARCH, "DIST="+folder)
	cmd.Dir = repository(t)
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	t.Logf("%s", out)
	archive := filepath.Join(folder, "image", "linux-"+runtime.GOARCH+".tar")
	out, err = exec.Command("tar", "-x", "-f", archive, "-C", folder).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	var manifest []struct{ Layers []string }
	content, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(content, &manifest)).To(Succeed())
	g.Expect(manifest).To(HaveLen(1))
	g.Expect(manifest[0].Layers).To(HaveLen(1))
	out, err = exec.Command("tar", "-x", "-z", "-f", filepath.Join(folder, manifest[0].Layers[0]), "-C", folder).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	return filepath.Join(folder, "usr/local/bin/wavefront-controller")
}

func sum(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}
