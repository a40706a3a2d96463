// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build release

package ship

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// releasedTag is a release that the tests make.
const releasedTag = "v1.2.3"

// platforms are those that wfctl is released for.
var platforms = []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"}

// TestReleaseFiles makes everything that a release publishes as files, but for what
// takes the workflow's identity (signatures) or scans (bills of materials), and reads it
// as those do who install it.
func TestReleaseFiles(t *testing.T) {
	g := NewWithT(t)
	dist := filepath.Join(repository(t), "dist")
	cmd := exec.Command("make", "release-snapshot")
	cmd.Dir, cmd.Env = repository(t), append(os.Environ(), "GORELEASER_CURRENT_TAG="+releasedTag)
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	sums := checksums(t, filepath.Join(dist, "release"))

	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) { expectArchive(t, archiveOf(t, sums, platform), platform) })
	}
	t.Run("manifests", func(t *testing.T) {
		g := NewWithT(t)
		for _, name := range []string{"install.yaml", "crds.yaml", "flux.yaml"} {
			g.Expect(sums).To(HaveKeyWithValue(name, sum(t, filepath.Join(dist, name))))
		}
		installed, err := os.ReadFile(filepath.Join(dist, "install.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(installed)).To(And(
			ContainSubstring("app.kubernetes.io/version: "+releasedTag+"\n"),
			ContainSubstring("image: ghcr.io/isometry/wavefront-controller:"+releasedTag+"\n")))
	})
	t.Run("krew manifest", func(t *testing.T) { expectKrew(t, filepath.Join(dist, "release", "krew", "wavefront.yaml"), sums) })
	t.Run("Homebrew formula", func(t *testing.T) { expectFormula(t, filepath.Join(dist, "wfctl.rb"), sums) })
}

// checksums reads the checksums, after sha256sum has compared them.
func checksums(t *testing.T, folder string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	cmd := exec.Command("sha256sum", "--check", "--ignore-missing", "checksums.txt")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	content, err := os.ReadFile(filepath.Join(folder, "checksums.txt"))
	g.Expect(err).NotTo(HaveOccurred())
	sums := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		g.Expect(fields).To(HaveLen(2))
		sums[fields[1]] = fields[0]
	}
	return sums
}

// archiveOf is the path of a platform's archive.
func archiveOf(t *testing.T, sums map[string]string, platform string) string {
	t.Helper()
	var found []string
	for name := range sums {
		if strings.HasPrefix(name, "wfctl_") && strings.Contains(name, "_"+platform+".") {
			found = append(found, name)
		}
	}
	NewWithT(t).Expect(found).To(HaveLen(1))
	return filepath.Join(repository(t), "dist", "release", found[0])
}

// expectArchive unpacks an archive, and asks its program what it was built for.
func expectArchive(t *testing.T, archive, platform string) {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	binary := "wfctl"
	if strings.HasPrefix(platform, "windows") {
		binary = "wfctl.exe"
		content, err := zip.OpenReader(archive)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = content.Close() }()
		g.Expect(os.CopyFS(folder, content)).To(Succeed())
	} else {
		out, err := exec.Command("tar", "-x", "-z", "-f", archive, "-C", folder).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	entries, err := filepath.Glob(filepath.Join(folder, "*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(ConsistOf(filepath.Join(folder, "LICENSE"), filepath.Join(folder, binary)))

	program, err := buildinfo.ReadFile(filepath.Join(folder, binary))
	g.Expect(err).NotTo(HaveOccurred())
	settings := map[string]string{}
	for _, setting := range program.Settings {
		settings[setting.Key] = setting.Value
	}
	g.Expect(settings["GOOS"] + "_" + settings["GOARCH"]).To(Equal(platform))
	g.Expect(settings).To(And(HaveKeyWithValue("CGO_ENABLED", "0"), HaveKeyWithValue("-trimpath", "true")))
	if platform == runtime.GOOS+"_"+runtime.GOARCH {
		version, err := exec.Command(filepath.Join(folder, binary), "--version").Output()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(version)).To(Equal(releasedTag + "\n"))
	}
}

// krewPlugin is what krew reads of a manifest.
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		ShortDescription string `json:"shortDescription"`
		Platforms        []struct {
			URI      string `json:"uri"`
			Sha256   string `json:"sha256"`
			Bin      string `json:"bin"`
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
		} `json:"platforms"`
	} `json:"spec"`
}

// expectKrew holds the manifest to krew's rules, and to the archives.
func expectKrew(t *testing.T, path string, sums map[string]string) {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	var plugin krewPlugin
	g.Expect(yaml.Unmarshal(content, &plugin)).To(Succeed())
	g.Expect(plugin.APIVersion).To(Equal("krew.googlecontainertools.github.com/v1alpha2"))
	g.Expect(plugin.Kind).To(Equal("Plugin"))
	g.Expect(plugin.Metadata.Name + ".yaml").To(Equal(filepath.Base(path)))
	g.Expect(plugin.Spec.Version).To(MatchRegexp(`^v\d+\.\d+\.\d+`), "a semantic version after a v")
	g.Expect(plugin.Spec.ShortDescription).NotTo(BeEmpty())
	g.Expect(len(plugin.Spec.ShortDescription)).To(BeNumerically("<=", 50), "the width of `kubectl krew search`")
	var found []string
	for _, one := range plugin.Spec.Platforms {
		platform := one.Selector.MatchLabels["os"] + "_" + one.Selector.MatchLabels["arch"]
		found = append(found, platform)
		archive := filepath.Base(archiveOf(t, sums, platform))
		g.Expect(one.URI).To(Equal("https://github.com/isometry/wavefront-controller/releases/download/" + releasedTag + "/" + archive))
		g.Expect(one.Sha256).To(Equal(sums[archive]))
		wanted := "wfctl"
		if strings.HasPrefix(platform, "windows") {
			wanted = "wfctl.exe"
		}
		g.Expect(one.Bin).To(Equal(wanted))
	}
	g.Expect(found).To(ConsistOf(platforms))
}

// expectFormula finds the archives in the formula, and has Ruby read it where there is
// one.
func expectFormula(t *testing.T, path string, sums map[string]string) {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	for _, platform := range platforms {
		archive := filepath.Base(archiveOf(t, sums, platform))
		named := bytes.Contains(content, []byte("/"+archive+"\"\n      sha256 \""+sums[archive]+"\"\n"))
		g.Expect(named).To(Equal(!strings.HasPrefix(platform, "windows")), archive)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		out, err := exec.Command(ruby, "-wc", path).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
}
