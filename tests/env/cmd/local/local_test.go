// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
)

// TestMain lets up start this very binary as its background process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// local runs a command as the Makefile does.
func local(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetOut(&out)
	cmd.SetArgs(append(args, "--dir", dir))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// pidOf is the background process.
func pidOf(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "local.lock"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	pid, err := strconv.Atoi(string(content))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return pid
}

func TestUpAndDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "local")
	t.Cleanup(func() { _, _ = local(t, dir, "down") })

	out, err := local(t, dir, "up")
	g.Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(filepath.Join(dir, "env"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring(string(content)))
	g.Expect(string(content)).To(And(
		ContainSubstring("GIT_URL=http://127.0.0.1:"),
		ContainSubstring("GIT_ROOT="+dir),
		ContainSubstring("KUBECONFIG="+filepath.Join(dir, "kubeconfig"))))

	pid := pidOf(t, dir)
	out, err = local(t, dir, "up")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("already running"))
	g.Expect(pidOf(t, dir)).To(Equal(pid), "the same one")

	e, err := env.Attach(filepath.Join(dir, "cluster"))
	g.Expect(err).NotTo(HaveOccurred())
	var namespace corev1.Namespace
	g.Expect(e.Client().Get(t.Context(), client.ObjectKey{Name: env.RuntimeNamespace}, &namespace)).To(Succeed())

	g.Expect(os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644)).To(Succeed())
	out, err = local(t, dir, "down")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("stopped"))
	g.Eventually(func() []string { return programsIn(t, dir) }, 10*time.Second).Should(BeEmpty())
	entries, err := os.ReadDir(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(1), "only what up did not make")

	_, err = local(t, dir, "down")
	g.Expect(err).NotTo(HaveOccurred(), "once more is fine")
}

func TestDownAndUpAfterCrash(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "local")
	t.Cleanup(func() { _, _ = local(t, dir, "down") })
	_, err := local(t, dir, "up")
	g.Expect(err).NotTo(HaveOccurred())
	pid := pidOf(t, dir)
	g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() []string { return programsIn(t, dir) }, 10*time.Second).Should(BeEmpty())

	out, err := local(t, dir, "up")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).NotTo(ContainSubstring("already running"))
	g.Expect(programsIn(t, dir)).NotTo(BeEmpty())

	g.Expect(syscall.Kill(pidOf(t, dir), syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() error { _, err := local(t, dir, "down"); return err }, 10*time.Second).Should(Succeed())
	g.Expect(dir).NotTo(BeADirectory())
	g.Eventually(func() []string { return programsIn(t, dir) }, 10*time.Second).Should(BeEmpty())
}

// programsIn are the command lines of running programs that mention a folder.
func programsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(content), dir) {
			found = append(found, string(content))
		}
	}
	return found
}

func TestUpSaysWhyItFails(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "local")
	// Where the draft of the file env would be written.
	g.Expect(os.MkdirAll(filepath.Join(dir, "env.new", "in-the-way"), 0o755)).To(Succeed())
	_, err := local(t, dir, "up")
	g.Expect(err).To(MatchError(ContainSubstring("env.new")))
	g.Eventually(func() []string { return programsIn(t, dir) }, 10*time.Second).Should(BeEmpty())
}
