// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// GitServer serves a folder of bare repositories over smart HTTP, for reading and for
// pushing, in git's protocol versions 0 to 2. Safe for concurrent use.
type GitServer struct {
	root    string
	address string
	handler *gitHandler

	mu     sync.Mutex
	server *http.Server // nil while stopped
}

// NewGitServer makes a git server for the repositories under root (made when missing)
// on a free port of 127.0.0.1. Start it to be served.
func NewGitServer(root string) (*GitServer, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("failed to make git root: %w", err)
	}
	handler, err := newGitHandler(root)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return &GitServer{root: root, address: loopback(port), handler: handler}, nil
}

// URL is where the repositories are served, without a trailing slash: repository
// "team-a" has the URL URL()+"/team-a.git".
func (s *GitServer) URL() string { return "http://" + s.address }

// Root is the folder of the bare repositories.
func (s *GitServer) Root() string { return s.root }

// Start serves. It does nothing when that is so already; after Stop it serves at the
// same address again.
func (s *GitServer) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("failed to start git server: %w", err)
	}
	s.server = &http.Server{Handler: s.handler, ReadHeaderTimeout: 30 * time.Second}
	go func(server *http.Server) {
		// Serve always ends with an error, and with this one after Stop.
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(os.Stderr, "git server on %s: %v\n", s.address, err)
		}
	}(s.server)
	return nil
}

// Stop closes the port and every connection: clients are refused until Start.
func (s *GitServer) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	s.server = nil
	return err
}

// Create makes an empty repository, whose URL is URL()+"/"+name+".git". The name may
// have slashes. An existing one is an error.
func (s *GitServer) Create(ctx context.Context, name string) (*Repository, error) {
	repo := s.Repository(name)
	if _, err := os.Stat(repo.dir); err == nil {
		return nil, fmt.Errorf("failed to create repository %q: %w", name, os.ErrExist)
	}
	if err := os.MkdirAll(filepath.Dir(repo.dir), 0o755); err != nil {
		return nil, fmt.Errorf("failed to create repository %q: %w", name, err)
	}
	cmd := gitCommand(ctx, s.root, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", repo.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("failed to create repository %q: %w: %s", name, err, out)
	}
	return repo, nil
}

// Repository returns a repository that exists already.
func (s *GitServer) Repository(name string) *Repository {
	name = strings.TrimSuffix(name, ".git")
	return &Repository{
		server: s,
		name:   name,
		dir:    filepath.Join(s.root, filepath.FromSlash(name)+".git"),
		url:    s.URL() + "/" + name + ".git",
	}
}

// gitCommand prepares git, deaf to the configuration of whoever runs it.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), gitEnvironment...)
	return cmd
}

var gitEnvironment = []string{
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=" + os.DevNull,
	"GIT_AUTHOR_NAME=" + authorName, "GIT_AUTHOR_EMAIL=" + authorEmail,
	"GIT_COMMITTER_NAME=" + authorName, "GIT_COMMITTER_EMAIL=" + authorEmail,
}

const (
	authorName  = "Test Author"
	authorEmail = "author@example.com"
)
