// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// kubectl is the program, built from the module of the chart's tests, which keeps
// its dependencies out of this one.
type kubectl struct {
	t       *testing.T
	path    string
	config  string
	session strings.Builder
}

func newKubectl(t *testing.T, e *env.Env) *kubectl {
	t.Helper()
	k := &kubectl{t: t, path: filepath.Join(t.TempDir(), "kubectl"), config: e.Kubeconfig()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", k.path, "./kubectl")
	build.Dir = filepath.Join("..", "chart")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("failed to build kubectl: %v\n%s", err, out)
	}
	return k
}

// run runs a command line and returns what it prints; it must succeed.
func (k *kubectl) run(line string) string {
	k.t.Helper()
	cmd := exec.CommandContext(k.t.Context(), "bash", "-c", k.path+" --kubeconfig="+k.config+" "+line)
	out, err := cmd.CombinedOutput()
	k.session.WriteString("$ kubectl " + line + "\n" + string(out) + "\n")
	if err != nil {
		k.t.Fatalf("kubectl %s: %v\n%s", line, err, out)
	}
	return string(out)
}

// TestKubectl is a day with a Wavefront at the command line; `go test -v` prints
// the session that docs/status.md quotes.
func TestKubectl(t *testing.T) {
	t.Parallel()
	k := newKubectl(t, env.Shared(t))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	s := beginIn(ctx, t, "flotillas", env.ControllerOptions{Args: []string{"--enable-leader-election"}},
		testfleet.Node{Name: "cache"}, testfleet.Node{Name: "db"},
		testfleet.Node{Name: "api", DependsOn: []string{"db"}},
		testfleet.Node{Name: "web", DependsOn: []string{"api", "cache"}})
	s.wavefrontName = "fleet"
	s.enforce()
	defer func() { t.Log("\n" + k.session.String()) }()

	s.Expect(k.run("get wf")).To(MatchRegexp(`(?m)^fleet +Enforce +Quiescent +0 +0 +True`))
	s.Expect(k.run("get wf -o wide")).To(ContainSubstring("all 4 nodes are settled"))
	s.Expect(k.run("get all -n flotillas")).To(ContainSubstring("wavefront.wavefront.as-code.io/fleet"))

	// A broken release of api blocks web; cache is suspended by hand.
	broken := s.push("api", testfleet.Release{Version: "2", Fail: true})
	s.Expect(s.AwaitPinned(ctx, "api", broken)).To(Succeed())
	s.await(func(wf *wavefrontv1.Wavefront) bool { return wf.Status.Nodes.Unhealthy == 1 })
	s.suspend("cache")
	s.push("web", testfleet.Release{Version: "2"})
	s.await(func(wf *wavefrontv1.Wavefront) bool { return wf.Status.Nodes.Blocked == 1 && wf.Status.Nodes.Held == 1 })
	s.Eventually(func() []string { return s.toldOf("Kustomization/web") }, "30s", "100ms").Should(ContainElement("Kustomization/web Blocked"))

	s.Expect(k.run("get wf")).To(MatchRegexp(`(?m)^fleet +Enforce +Blocked +1 +1 +True`))
	s.Expect(k.run("get wf -o wide")).To(ContainSubstring(`Kustomization "flotillas/api" is unhealthy`))
	described := k.run("describe wf fleet")
	for _, part := range []string{"AncestorUnhealthy", "Observed Generation", "Last Evaluated", "PinAdvanced", "HoldDetected", "wavefront-controller"} {
		s.Expect(described).To(ContainSubstring(part))
	}
	s.Expect(k.run("events -n flotillas --for kustomization/web --types=Warning")).To(
		MatchRegexp(`Blocked +Kustomization/web +wavefront/fleet: is blocked: its ancestor Kustomization "flotillas/api" is unhealthy`))

	// What flux reconcile does.
	const token = "2026-11-29T12:00:00Z"
	k.run("annotate wf fleet --overwrite reconcile.fluxcd.io/requestedAt=" + token)
	k.run("wait wf/fleet --for=jsonpath='{.status.lastHandledReconcileAt}'=" + token + " --timeout=30s")

	s.expectDashboard(t)

	// The fix drains what waited.
	s.push("api", testfleet.Release{Version: "3"})
	k.run("wait wf/fleet --for=jsonpath='{.status.phase}'=Quiescent --timeout=60s")
	k.run("wait wf/fleet --for=condition=Ready --timeout=5s")
	s.Expect(k.run("get wf")).To(MatchRegexp(`(?m)^fleet +Enforce +Quiescent +0 +0 +True`))
}

// suspend suspends a source.
func (s *stage) suspend(source string) {
	object := &sourcev1.GitRepository{}
	object.Namespace, object.Name = s.Namespace(), source
	s.ExpectWithOffset(1, s.env.Client().Patch(s.ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`)))).To(Succeed())
}

// toldOf returns what was delivered about an object.
func (s *stage) toldOf(object string) []string {
	var texts []string
	for _, n := range s.receiver.Delivered() {
		if strings.HasPrefix(n.String(), object+" ") {
			texts = append(texts, n.String())
		}
	}
	return texts
}
