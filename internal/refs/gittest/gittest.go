// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gittest makes git repositories and serves them by git's own program,
// for tests. Everything lives in the test's folders and on loopback.
package gittest

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Main is the branch that repositories are made with.
const Main = "refs/heads/main"

// git runs git in a folder, apart from the user's configuration.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = Environment()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("failed to run git %s (is git installed?): %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// Environment for git that no configuration of the user or machine gets into.
func Environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@localhost",
		"GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@localhost",
	}
}

// Init makes a bare repository at path with one commit on Main, and returns the
// commit. Format is sha1 or sha256.
func Init(tb testing.TB, path, format string) string {
	tb.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		tb.Fatal(err)
	}
	git(tb, path, "init", "--quiet", "--bare", "--object-format="+format, "--initial-branch=main")
	return Commit(tb, path, Main, "first")
}

// Commit puts a new commit on a ref and returns it.
func Commit(tb testing.TB, path, ref, message string) string {
	tb.Helper()
	tree := git(tb, path, "hash-object", "-t", "tree", "-w", "/dev/null")
	commit := git(tb, path, "commit-tree", "-m", message, tree)
	git(tb, path, "update-ref", ref, commit)
	return commit
}

// Tag makes an annotated tag on Main and returns the tag object.
func Tag(tb testing.TB, path, name string) string {
	tb.Helper()
	git(tb, path, "tag", "-a", "-m", name, name, Main)
	return git(tb, path, "rev-parse", "refs/tags/"+name)
}

// Fill gives a repository n more refs in all, below refs/pull, where big hosts
// have theirs.
func Fill(tb testing.TB, path string, n int) {
	tb.Helper()
	commit := git(tb, path, "rev-parse", Main)
	var b strings.Builder
	b.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	fmt.Fprintf(&b, "%s %s\n", commit, Main)
	for i := range n {
		fmt.Fprintf(&b, "%s refs/pull/%06d/head\n", commit, i)
	}
	if err := os.WriteFile(filepath.Join(path, "packed-refs"), []byte(b.String()), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// Backend serves the repositories below root by git http-backend. Unless old, it
// passes on the protocol that a client asks for; else it speaks version 0.
func Backend(tb testing.TB, root string, old bool) http.Handler {
	tb.Helper()
	program := filepath.Join(git(tb, root, "--exec-path"), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		tb.Fatalf("git http-backend is missing: %v", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		env := append(Environment(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1")
		if protocol := r.Header.Get("Git-Protocol"); old {
			r = r.Clone(r.Context())
			r.Header.Del("Git-Protocol")
		} else if protocol != "" {
			env = append(env, "GIT_PROTOCOL="+protocol)
		}
		(&cgi.Handler{Path: program, Env: env, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0)}).ServeHTTP(w, r)
	})
}
