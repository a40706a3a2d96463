// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/isometry/wavefront-controller/tests/env"
	"github.com/isometry/wavefront-controller/tests/ship/kubelet"
)

const (
	root      = "../.."
	namespace = "flux-system"
	published = "https://github.com/isometry/wavefront-controller"
	charts    = "oci://ghcr.io/isometry/charts/"

	patience = 4 * time.Minute
	glance   = 200 * time.Millisecond
)

// tools is the folder with the programs that the commands use: wfctl and the manager
// of the work tree, and kubectl and helm from their modules. It stays, because linking
// them takes longer than anything else here.
var (
	tools     string
	toolsOnce = sync.OnceValue(buildTools)
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	var err error
	if tools, err = filepath.Abs(filepath.Join(root, ".local", "tools")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func buildTools() error {
	if err := os.MkdirAll(tools, 0o755); err != nil {
		return err
	}
	if _, err := kubelet.Build(context.Background(), root, tools); err != nil {
		return err
	}
	for _, build := range []struct {
		folder   string
		packages []string
	}{
		{folder: root, packages: []string{"./cmd/wfctl"}},
		{folder: filepath.Join(root, "tests", "chart"), packages: []string{"./kubectl", "helm.sh/helm/v3/cmd/helm"}},
	} {
		cmd := exec.Command("go", append([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", tools + "/"}, build.packages...)...)
		cmd.Dir = build.folder
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// shell runs the commands of a document, one block at a time, against a control plane.
type shell struct {
	*env.Env
	*kubelet.Kubelet
	// folder is the working directory of every block.
	folder string
	// replace maps what is published to what stands for it on loopback.
	replace []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	g := NewWithT(t)
	g.Expect(toolsOnce()).To(Succeed())
	e := env.ForTest(t, env.Options{})
	return &shell{
		Env: e, folder: t.TempDir(),
		Kubelet: kubelet.Run(t, e, kubelet.BinaryOf(filepath.Join(tools, env.ControllerName))),
		replace: []string{charts + "wavefront-controller", absolute(t, "charts/wavefront-controller")},
	}
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join(root, path))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return abs
}

// run runs a block as somebody would who pastes it.
func (s *shell) run(t *testing.T, b block) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", strings.NewReplacer(s.replace...).Replace(b.content))
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(),
		"PATH="+tools+":"+os.Getenv("PATH"), "KUBECONFIG="+s.Kubeconfig(), "HOME="+s.folder, "NO_COLOR=1",
		"GIT_AUTHOR_NAME=Newcomer", "GIT_AUTHOR_EMAIL=newcomer@example.com",
		"GIT_COMMITTER_NAME=Newcomer", "GIT_COMMITTER_EMAIL=newcomer@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("line %d: %v\n%s\n%s", b.line, err, b.content, out)
	}
	t.Logf("line %d:\n%s%s", b.line, b.content, out)
}

// runAll runs the blocks of a document that satisfy a condition, and at least one.
func (s *shell) runAll(t *testing.T, document string, wanted func(block) bool) {
	t.Helper()
	ran := 0
	for _, b := range blocks(read(t, document)) {
		if b.language == "sh" && b.notRun == "" && wanted(b) {
			s.run(t, b)
			ran++
		}
	}
	NewWithT(t).Expect(ran).To(BeNumerically(">", 0))
}

// releases serves the files of a release as the project's site would.
func releases(t *testing.T, files map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(content))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestEveryCommandRunsOrSaysWhyNot finds blocks that no test runs: each document with
// commands is either run as a whole below, or each of its blocks is marked.
func TestEveryCommandRunsOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	// These run, or say why not, block by block.
	executed := map[string]bool{"docs/install.md": true, "docs/runbook.md": true}
	// The two commands of a newcomer, and the makefile's other targets, are run by
	// developers and by continuous integration.
	commands := map[string]bool{"make demo\n": true, "make test\n": true}
	for _, document := range []string{"README.md", "docs/install.md", "docs/runbook.md"} {
		for _, b := range blocks(read(t, document)) {
			if b.language == "sh" && b.notRun == "" && !executed[document] && !commands[b.content] {
				t.Errorf("%s, line %d: the block is not run by a test, and has no mark that says why", document, b.line)
			}
		}
	}
}
