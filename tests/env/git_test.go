// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/tests/env"
)

// newGit starts a git server with one repository of one commit.
func newGit(t *testing.T) (*env.GitServer, *env.Repository, string) {
	t.Helper()
	g := NewWithT(t)
	server, err := env.NewGitServer(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.Start()).To(Succeed())
	t.Cleanup(func() { _ = server.Stop() })
	repo, err := server.Create(t.Context(), "teams/a")
	g.Expect(err).NotTo(HaveOccurred())
	commit, err := repo.Commit(t.Context(), "main", "first", env.Files{"a.txt": "one", "dir/b.txt": "b"})
	g.Expect(err).NotTo(HaveOccurred())
	return server, repo, commit
}

// git runs the real client.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestGitServesProtocolV2(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, repo, commit := newGit(t)

	out, err := git(t.Context(), "", "-c", "protocol.version=2", "ls-remote", repo.URL(), "refs/heads/main")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(Equal(commit + "\trefs/heads/main\n"))

	listings := server.Accesses(func(a env.Access) bool { return a.Command == "ls-refs" })
	g.Expect(listings).To(HaveLen(1))
	g.Expect(listings[0]).To(And(
		HaveField("Repository", "teams/a"), HaveField("Service", "git-upload-pack"),
		HaveField("Protocol", "version=2"), HaveField("Status", http.StatusOK)))
	advertisements := server.Accesses(func(a env.Access) bool { return a.Command == "" })
	g.Expect(advertisements).To(HaveLen(1))
}

func TestGitTakesPushes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, repo, _ := newGit(t)
	work := filepath.Join(t.TempDir(), "work")
	out, err := git(t.Context(), "", "clone", "-q", repo.URL(), work)
	g.Expect(err).NotTo(HaveOccurred(), out)
	// More than git sends in one piece: the request comes chunked.
	g.Expect(os.WriteFile(filepath.Join(work, "a.txt"), noise(3<<20), 0o644)).To(Succeed())
	for _, args := range [][]string{{"commit", "-qam", "second"}, {"push", "-q", "origin", "main"}} {
		out, err := git(t.Context(), work, args...)
		g.Expect(err).NotTo(HaveOccurred(), out)
	}
	pushed, err := git(t.Context(), work, "rev-parse", "HEAD")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(repo.Head(t.Context(), "main")).To(Equal(strings.TrimSpace(pushed)))
}

// noise is content that does not compress.
func noise(n int) []byte {
	content := make([]byte, n)
	state := uint64(1)
	for i := range content {
		state = state*6364136223846793005 + 1442695040888963407
		content[i] = byte(state >> 56)
	}
	return content
}

func TestRepositoryMovesRefs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	_, repo, first := newGit(t)

	second, err := repo.Commit(ctx, "main", "second", env.Files{"a.txt": "two"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(repo.Resolve(ctx, "main~1")).To(Equal(first))
	content, err := git(ctx, repo.Dir(), "show", "main:dir/b.txt")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(content).To(Equal("b"), "other files stay")

	removed, err := repo.Remove(ctx, "main", "remove", "dir")
	g.Expect(err).NotTo(HaveOccurred())
	files, err := git(ctx, repo.Dir(), "ls-tree", "-r", "--name-only", removed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(Equal("a.txt\n"))

	rewritten, err := repo.ForceCommit(ctx, "main", first, "rewritten", env.Files{"a.txt": "other"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(repo.Resolve(ctx, "main~1")).To(Equal(first))
	g.Expect(rewritten).NotTo(Equal(second))
	g.Expect(repo.Prune(ctx)).To(Succeed())
	_, err = repo.Resolve(ctx, second)
	g.Expect(err).To(HaveOccurred(), "pruned")

	g.Expect(repo.Reset(ctx, "main", first)).To(Succeed())
	g.Expect(repo.Head(ctx, "main")).To(Equal(first))
	tag, err := repo.Tag(ctx, "v1", first, "release")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tag).NotTo(Equal(first), "an annotated tag has its own hash")
	g.Expect(repo.SetRef(ctx, "refs/heads/other", first)).To(Succeed())
	g.Expect(repo.DeleteBranch(ctx, "main")).To(Succeed())
	g.Expect(repo.Refs(ctx)).To(Equal(map[string]string{"refs/heads/other": first, "refs/tags/v1": tag}))
}

func TestGitAsksForCredentials(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, repo, _ := newGit(t)
	repo.RequireBasicAuth("user", "secret")

	_, err := git(t.Context(), "", "ls-remote", repo.URL())
	g.Expect(err).To(HaveOccurred())
	out, err := git(t.Context(), "", "ls-remote", strings.Replace(repo.URL(), "http://", "http://user:secret@", 1))
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(server.Accesses(func(a env.Access) bool { return a.Status == http.StatusUnauthorized })).NotTo(BeEmpty())
	g.Expect(server.Accesses(func(a env.Access) bool { return a.User == "user" && a.Status == http.StatusOK })).NotTo(BeEmpty())

	repo.RequireBasicAuth("", "")
	out, err = git(t.Context(), "", "ls-remote", repo.URL())
	g.Expect(err).NotTo(HaveOccurred(), out)
}

func TestGitFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fault  env.Fault
		status int
	}{
		{name: "cut", fault: env.FaultCut, status: 0},
		{name: "internal", fault: env.FaultInternal, status: http.StatusInternalServerError},
		{name: "forbidden", fault: env.FaultForbidden, status: http.StatusForbidden},
		{name: "hang", fault: env.FaultHang, status: 0},
		{name: "slow", fault: env.Fault{Hang: true, Status: http.StatusBadGateway}, status: http.StatusBadGateway},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server, repo, _ := newGit(t)
			other, err := server.Create(t.Context(), "other")
			g.Expect(err).NotTo(HaveOccurred())

			repo.Break(tt.fault)
			answers := make(chan int, 1)
			go func() { answers <- statusOf(repo.URL() + "/info/refs?service=git-upload-pack") }()
			if tt.fault.Hang {
				g.Consistently(answers, 200*time.Millisecond).ShouldNot(Receive())
			} else {
				g.Eventually(answers, 5*time.Second).Should(Receive(Equal(tt.status)))
			}
			out, err := git(t.Context(), "", "ls-remote", other.URL())
			g.Expect(err).NotTo(HaveOccurred(), out, "only the one is broken")

			repo.Heal()
			if tt.fault.Hang {
				g.Eventually(answers, 5*time.Second).Should(Receive(Equal(tt.status)))
			}
			g.Expect(server.Accesses(func(a env.Access) bool { return a.Repository == "teams/a" })).
				To(ConsistOf(HaveField("Status", tt.status)))
			out, err = git(t.Context(), "", "ls-remote", repo.URL())
			g.Expect(err).NotTo(HaveOccurred(), out)
		})
	}
}

// statusOf asks for a URL; 0 is a connection that was cut.
func statusOf(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

func TestGitStopRefusesConnections(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, repo, _ := newGit(t)
	g.Expect(server.Stop()).To(Succeed())
	out, err := git(t.Context(), "", "ls-remote", repo.URL())
	g.Expect(err).To(HaveOccurred())
	g.Expect(out).To(ContainSubstring("Failed to connect"))
	g.Expect(server.Start()).To(Succeed())
	out, err = git(t.Context(), "", "ls-remote", repo.URL())
	g.Expect(err).NotTo(HaveOccurred(), out)
}

func TestGitIntercepts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, repo, _ := newGit(t)
	seen := make(chan env.Access, 10)
	server.OnAccess(func(a env.Access) { seen <- a })
	server.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusTeapot) })
	_, err := git(t.Context(), "", "ls-remote", repo.URL())
	g.Expect(err).To(HaveOccurred())
	g.Expect(<-seen).To(HaveField("Status", http.StatusTeapot))
	server.Intercept(nil)
	out, err := git(t.Context(), "", "ls-remote", repo.URL())
	g.Expect(err).NotTo(HaveOccurred(), out)
}
