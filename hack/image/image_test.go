// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
)

const reference = "registry.example.com/fleet/wavefront-controller:v1.2.3"

// host is the platform that can be run here.
func host() string { return "linux/" + runtime.GOARCH }

// buildProgram runs the command on the test program and returns what it printed
// and the folder it wrote.
func buildProgram(t *testing.T, args ...string) (digest, folder string) {
	t.Helper()
	folder = t.TempDir()
	var out bytes.Buffer
	err := run(context.Background(), append([]string{
		"--source", "testdata/program", "--version", "v1.2.3", "--revision", "0123abcd", "--output", folder,
	}, args...), &out)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(out.String()), folder
}

// TestSameSourcesSameDigest builds twice, for two platforms.
func TestSameSourcesSameDigest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	platforms := "linux/amd64,linux/arm64"
	first, folder := buildProgram(t, "--image", reference, "--platforms", platforms)
	second, _ := buildProgram(t, "--image", reference, "--platforms", platforms)
	g.Expect(second).To(Equal(first))
	g.Expect(first).To(HavePrefix("registry.example.com/fleet/wavefront-controller@sha256:"))
	g.Expect(filepath.Glob(filepath.Join(folder, "*.tar"))).To(ConsistOf(
		HaveSuffix("linux-amd64.tar"), HaveSuffix("linux-arm64.tar")))
}

// imageOf reads the only image of a layout.
func imageOf(t *testing.T, folder string) v1.Image {
	t.Helper()
	g := NewWithT(t)
	outer, err := layout.ImageIndexFromPath(filepath.Join(folder, "oci"))
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := outer.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(1))
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err = index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(1))
	image, err := index.Image(manifest.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	return image
}

// TestConfig inspects the configuration that an engine would run.
func TestConfig(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, folder := buildProgram(t, "--image", reference, "--platforms", host())
	config, err := imageOf(t, folder).ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Config.Entrypoint).To(Equal([]string{"/usr/local/bin/wavefront-controller"}))
	g.Expect(config.Config.User).To(Equal("65534:65534"))
	g.Expect(config.Config.Cmd).To(BeEmpty())
	g.Expect(config.OS + "/" + config.Architecture).To(Equal(host()))
	g.Expect(config.Created.Unix()).To(BeZero())
	g.Expect(config.Config.Labels).To(And(
		HaveKeyWithValue("org.opencontainers.image.version", "v1.2.3"),
		HaveKeyWithValue("org.opencontainers.image.revision", "0123abcd"),
		HaveKeyWithValue("org.opencontainers.image.source", "https://github.com/isometry/wavefront-controller")))
}

// TestEntrypointRuns unpacks the image and runs its entrypoint with nothing else
// to see, as its user.
func TestEntrypointRuns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, folder := buildProgram(t, "--image", reference, "--platforms", host())
	root := t.TempDir()
	unpack(t, imageOf(t, folder), root)
	g.Expect(os.Chmod(root, 0o755)).To(Succeed())

	cmd := exec.Command("/usr/local/bin/wavefront-controller", "--flag")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	want := 65534
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	} else {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		want = 0
	}
	out, err := cmd.Output()
	g.Expect(err).NotTo(HaveOccurred())
	var report map[string]any
	g.Expect(json.Unmarshal(out, &report)).To(Succeed())
	g.Expect(report).To(Equal(map[string]any{
		"version": "v1.2.3", "uid": float64(want), "roots": true, "temporary": true, "arguments": []any{"--flag"},
	}))
}

func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	g := NewWithT(t)
	content := mutate.Extract(image)
	defer content.Close()
	cmd := exec.Command("tar", "-x", "--no-same-owner", "-p", "-C", root)
	cmd.Stdin = content
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
}

// TestPush pushes to a registry and pulls by the digest that was printed.
func TestPush(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/fleet/wavefront-controller"
	printed, _ := buildProgram(t, "--image", repository+":v1.2.3", "--platforms", host(), "--push")
	byDigest, err := name.NewDigest(printed)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = remote.Index(byDigest)
	g.Expect(err).NotTo(HaveOccurred())
	tag, err := name.NewTag(repository + ":v1.2.3")
	g.Expect(err).NotTo(HaveOccurred())
	descriptor, err := remote.Head(tag)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(descriptor.Digest.String()).To(Equal(byDigest.DigestStr()))
}

// TestBadInput names the flag that is wrong.
func TestBadInput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		args    []string
		wantErr string
	}{
		{name: "no image", wantErr: "--image is required"},
		{name: "image that is none", args: []string{"--image", "UPPER/case"}, wantErr: "--image"},
		{name: "platform that is none", args: []string{"--image", reference, "--platforms", "linux"}, wantErr: "--platforms"},
		{name: "source that is none", args: []string{"--image", reference, "--source", "testdata"}, wantErr: "failed to compile the manager for linux/amd64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := run(context.Background(), append(tt.args, "--output", t.TempDir()), &bytes.Buffer{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
		})
	}
}
