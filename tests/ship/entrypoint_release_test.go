// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build release

package ship

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
)

// imageHere unpacks the image that can be run here.
func imageHere(t *testing.T) image {
	t.Helper()
	for _, one := range imagesOf(t, firstBuild(t)) {
		if one.config.Architecture == runtime.GOARCH {
			return one
		}
	}
	t.Fatalf("no image for %s", runtime.GOARCH)
	return image{}
}

// command runs the entrypoint with nothing but the image to see, as the image's user
// and with its environment.
func (i image) command(args ...string) *exec.Cmd {
	cmd := exec.Command(i.config.Config.Entrypoint[0], args...)
	cmd.Dir, cmd.Env = "/", i.config.Config.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	} else {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 65534, HostID: os.Getuid(), Size: 1}}
	}
	return cmd
}

// TestReleaseImageSpeaks runs what needs no cluster, and what says that there is none.
func TestReleaseImageSpeaks(t *testing.T) {
	here := imageHere(t)
	tests := []struct {
		name     string
		args     []string
		want     string
		wantCode int
	}{
		{name: "version", args: []string{"--version"}, want: imageVersion + "\n"},
		{name: "help", args: []string{"--help"}, want: "--events-addr"},
		{name: "no cluster", want: "failed to find the API server", wantCode: 1},
		{name: "no namespace", args: []string{"--enable-leader-election"}, want: "RUNTIME_NAMESPACE is not set", wantCode: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			cmd := here.command(tt.args...)
			out, err := cmd.CombinedOutput()
			if tt.wantCode == 0 {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(cmd.ProcessState.ExitCode()).To(Equal(tt.wantCode), string(out))
			g.Expect(string(out)).To(ContainSubstring(tt.want))
		})
	}
}

// TestReleaseImageRuns runs the image as the Deployment asks for, under its roles: a
// Wavefront is evaluated, and what asks the program to end makes it give the lease up.
func TestReleaseImageRuns(t *testing.T) {
	g := NewWithT(t)
	e := env.ForTest(t, env.Options{})
	running := &site{Env: e}
	running.deploy(t, installer(t, "config/default"))
	here := imageHere(t)
	cmd := here.command(argumentsOf(only[appsv1.Deployment](t, build(t, "config/default"), "Deployment"))...)
	cmd.Env = append(cmd.Env, "RUNTIME_NAMESPACE="+namespace, "KUBECONFIG="+here.access(t, e))
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	g.Expect(cmd.Start()).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if t.Failed() {
			t.Log(log.String())
		}
	})

	running.deploy(t, installer(t, "config/samples"))
	running.expectWavefront(t, "fleet", func(g Gomega, wavefront *wavefrontv1.Wavefront) {
		g.Expect(ended).NotTo(Receive())
		g.Expect(wavefront.Status.ObservedGeneration).To(Equal(wavefront.Generation))
		g.Expect(wavefront.Status.LastEvaluated).NotTo(BeNil())
	})
	g.Expect(cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(ended, patience).Should(Receive(BeNil()))
	var lease coordinationv1.Lease
	g.Expect(e.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: component + "-leader-election"}, &lease)).To(Succeed())
	g.Expect(*lease.Spec.HolderIdentity).To(BeEmpty())
}

// argumentsOf are a Deployment's, at addresses that are free here and without that of a
// service that does not exist here.
func argumentsOf(deployment appsv1.Deployment) []string {
	var args []string
	for _, arg := range deployment.Spec.Template.Spec.Containers[0].Args {
		if !strings.HasPrefix(arg, "--events-addr=") {
			args = append(args, arg)
		}
	}
	return append(args, "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0")
}

// access puts what a pod would find mounted into the image's only writable folder, and
// returns its path in the image.
func (i image) access(t *testing.T, e *env.Env) string {
	t.Helper()
	g := NewWithT(t)
	outside, err := e.KubeconfigFor(t.Context(), namespace, component)
	g.Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(outside)
	g.Expect(err).NotTo(HaveOccurred())
	const inside = "/tmp/kubeconfig"
	g.Expect(os.WriteFile(filepath.Join(i.root, inside), content, 0o644)).To(Succeed())
	return inside
}
