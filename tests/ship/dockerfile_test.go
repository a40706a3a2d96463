// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
)

// instruction is one of a Dockerfile.
type instruction struct {
	name, arguments string
	// stage counts from 0 with each FROM; -1 before the first.
	stage int
}

// dockerfile parses the Dockerfile: comments go, and lines that end with a backslash
// are joined.
func dockerfile(t testing.TB) []instruction {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository(t), "Dockerfile"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(content), "")
	text = strings.ReplaceAll(text, "\\\n", "")
	var parsed []instruction
	stage := -1
	for line := range strings.Lines(text) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if name == "FROM" {
			stage++
		}
		parsed = append(parsed, instruction{name: name, arguments: strings.Join(strings.Fields(arguments), " "), stage: stage})
	}
	return parsed
}

// of returns the arguments of one kind of instruction in a stage.
func of(parsed []instruction, name string, stage int) []string {
	var arguments []string
	for _, one := range parsed {
		if one.name == name && one.stage == stage {
			arguments = append(arguments, one.arguments)
		}
	}
	return arguments
}

// TestDockerfile holds the image of an engine to that of `make ko-build`: nothing but
// the manager and the root certificates, run by nobody.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	parsed := dockerfile(t)
	const builder, final = 0, 1
	g.Expect(of(parsed, "FROM", builder)).To(ConsistOf("--platform=$BUILDPLATFORM golang:${GO_VERSION} AS builder"))
	g.Expect(of(parsed, "FROM", final)).To(ConsistOf("scratch"))
	g.Expect(of(parsed, "FROM", final+1)).To(BeEmpty())
	g.Expect(of(parsed, "USER", final)).To(ConsistOf("65534:65534"))
	g.Expect(of(parsed, "ENTRYPOINT", final)).To(ConsistOf(`["/usr/local/bin/wavefront-controller"]`))
	g.Expect(of(parsed, "RUN", final)).To(BeEmpty(), "there is no shell")
	g.Expect(of(parsed, "COPY", final)).To(HaveEach(HavePrefix("--from=builder ")))
	g.Expect(of(parsed, "ENV", builder)).To(ContainElement("CGO_ENABLED=0"))
	g.Expect(of(parsed, "ADD", builder)).To(BeEmpty())

	goMod, err := os.ReadFile(filepath.Join(repository(t), "go.mod"))
	g.Expect(err).NotTo(HaveOccurred())
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(goMod))[1]
	g.Expect(of(parsed, "ARG", -1)).To(ConsistOf("GO_VERSION=" + version))

	deployment := only[appsv1.Deployment](t, build(t, "config/manager"), "Deployment")
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Command).To(BeEmpty(), "the entrypoint is the image's")
}

// TestDockerfileCopies finds what the builder copies in the context, after
// .dockerignore, and nothing of this module's own packages missing.
func TestDockerfileCopies(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(repository(t), ".dockerignore"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(ContainSubstring("\n*\n"))
	for _, arguments := range of(dockerfile(t), "COPY", 0) {
		fields := strings.Fields(arguments)
		for _, source := range fields[:len(fields)-1] {
			g.Expect(string(content)).To(ContainSubstring("\n!" + strings.TrimSuffix(source, "/") + "\n"))
			found, err := filepath.Glob(filepath.Join(repository(t), source))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).NotTo(BeEmpty(), source)
		}
	}
}
