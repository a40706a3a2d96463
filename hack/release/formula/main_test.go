// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// checksums has a line for each archive of a release, but for those without.
func checksums(without string) string {
	var lines strings.Builder
	for i, platform := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		if platform != without {
			lines.WriteString(strings.Repeat(string("abcd"[i]), 64) + "  wfctl_1.2.3_" + platform + ".tar.gz\n")
		}
	}
	return lines.String()
}

func TestRender(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, version, checksums, wantErr string
	}{
		{name: "complete", version: "1.2.3", checksums: checksums("")},
		{name: "archive missing", version: "1.2.3", checksums: checksums("linux_arm64"), wantErr: `"wfctl_1.2.3_linux_arm64.tar.gz"`},
		{name: "other version", version: "1.2.4", checksums: checksums(""), wantErr: `"wfctl_1.2.4_darwin_arm64.tar.gz"`},
		{name: "no version", version: "", checksums: checksums(""), wantErr: "--version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			rendered, err := render(tt.version, []byte(tt.checksums))
			if tt.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			for i, file := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
				g.Expect(string(rendered)).To(ContainSubstring(
					"/v1.2.3/wfctl_1.2.3_" + file + ".tar.gz\"\n      sha256 \"" + strings.Repeat(string("abcd"[i]), 64) + "\"\n"))
			}
		})
	}
}

// TestRun writes a file, which Ruby parses where there is one.
func TestRun(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folder := t.TempDir()
	sums, output := filepath.Join(folder, "checksums.txt"), filepath.Join(folder, "wfctl.rb")
	g.Expect(os.WriteFile(sums, []byte(checksums("")), 0o600)).To(Succeed())
	g.Expect(run([]string{"--version", "v1.2.3", "--checksums", sums, "--output", output})).To(Succeed())
	content, err := os.ReadFile(output)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(And(HavePrefix("class Wfctl < Formula\n"), HaveSuffix("end\n")))
	if ruby, err := exec.LookPath("ruby"); err == nil {
		out, err := exec.Command(ruby, "-c", output).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
}
