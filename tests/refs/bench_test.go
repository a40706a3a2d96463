// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/go-logr/logr"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
)

// wire counts what goes over the connections of a server, both ways.
type wire struct {
	net.Listener
	bytes atomic.Int64
}

func (w *wire) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wireConn{conn, w}, nil
}

type wireConn struct {
	net.Conn
	wire *wire
}

func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wire.bytes.Add(int64(n))
	return n, err
}

func (c *wireConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wire.bytes.Add(int64(n))
	return n, err
}

// replay answers each kind of request as another server did the first time, for
// whatever repository, so that the server's own work does not count.
type replay struct {
	of    http.Handler
	mu    sync.Mutex
	known map[string]*httptest.ResponseRecorder
}

func (s *replay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	key := strings.Join([]string{r.Method, path, r.Header.Get("Git-Protocol"), string(body)}, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	recorded := s.known[key]
	if recorded == nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		recorded = httptest.NewRecorder()
		s.of.ServeHTTP(recorded, r)
		s.known[key] = recorded
	}
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

// servers are git's own program, and one whose work does not count.
func servers(b *testing.B, root string) map[string]http.Handler {
	b.Helper()
	backend := gittest.Backend(b, root, false)
	return map[string]http.Handler{
		"backend": backend, "replay": &replay{of: backend, known: map[string]*httptest.ResponseRecorder{}},
	}
}

func start(b *testing.B, h http.Handler) (string, *wire) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	w := &wire{Listener: listener}
	server := &httptest.Server{Listener: w, Config: &http.Server{Handler: h}}
	server.Start()
	b.Cleanup(server.Close)
	return server.URL, w
}

// clients list one ref of one repository.
func clients(b *testing.B) map[string]func(url string) error {
	b.Helper()
	l := lister(b)
	return map[string]func(string) error{
		"wavefront": func(url string) error {
			_, err := l.List(b.Context(), source("app", url, ""))
			return err
		},
		"gogit": func(url string) error {
			remote := gogit.NewRemote(memory.NewStorage(), &config.RemoteConfig{Name: "origin", URLs: []string{url}})
			_, err := remote.ListContext(b.Context(), &gogit.ListOptions{})
			return err
		},
		"git": func(url string) error {
			cmd := exec.CommandContext(b.Context(), "git", "ls-remote", url, gittest.Main)
			cmd.Env = gittest.Environment()
			return cmd.Run()
		},
	}
}

// BenchmarkList lists one ref: time, allocations and bytes on the wire. What git
// allocates is not seen, as it is another process.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{10, 50_000} {
		root := b.TempDir()
		repo := filepath.Join(root, "repo.git")
		gittest.Init(b, repo, "sha1")
		gittest.Fill(b, repo, n)
		for server, handler := range servers(b, root) {
			url, counted := start(b, handler)
			for client, list := range clients(b) {
				b.Run(fmt.Sprintf("server=%s/client=%s/refs=%d", server, client, n), func(b *testing.B) {
					if err := list(url + "/repo.git"); err != nil {
						b.Fatal(err)
					}
					before := counted.bytes.Load()
					b.ReportAllocs()
					for b.Loop() {
						if err := list(url + "/repo.git"); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(counted.bytes.Load()-before)/float64(b.N), "wire-bytes/op")
				})
			}
		}
	}
}

// repos is how many repositories a sweep has.
const repos = 1000

// BenchmarkSweep lists 1,000 repositories of one host, four at a time.
func BenchmarkSweep(b *testing.B) {
	root := b.TempDir()
	gittest.Init(b, filepath.Join(root, "repo.git"), "sha1")
	for i := range repos {
		if err := os.Symlink("repo.git", filepath.Join(root, fmt.Sprintf("%04d.git", i))); err != nil {
			b.Fatal(err)
		}
	}
	sweeps := map[string]func(*testing.B, string){"wavefront": sweepWavefront, "git": sweepGit}
	for server, handler := range servers(b, root) {
		url, _ := start(b, handler)
		for client, sweep := range sweeps {
			b.Run(fmt.Sprintf("server=%s/client=%s/repos=%d", server, client, repos), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					sweep(b, url)
				}
			})
		}
	}
}

func sweepWavefront(b *testing.B, url string) {
	ctx, cancel := context.WithCancel(b.Context())
	observer := refs.NewObserver(refs.Options{Lister: lister(b), Logger: logr.Discard()})
	ended := make(chan error, 1)
	go func() { ended <- observer.Start(ctx) }()
	var targets []refs.Target
	for i := range repos {
		name := fmt.Sprintf("%04d", i)
		targets = append(targets, refs.Target{
			Source:     fleet.ID{Kind: fleet.KindGitRepository, Namespace: "team", Name: name},
			Repository: source(name, url+"/"+name+".git", ""),
		})
	}
	observer.Sync("fleet", refs.Schedule{
		Interval: time.Hour, Timeout: time.Minute, StaleAfter: 3 * time.Hour, PerHostConcurrency: 4,
	}, targets)
	seen := map[fleet.ID]bool{}
	for len(seen) < repos {
		for _, id := range (<-observer.Updates()).Sources {
			seen[id] = true
		}
	}
	for _, t := range targets {
		if _, err := observer.Observed(t.Source, t.Repository.Spec.URL, gittest.Main); err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	<-ended
}

func sweepGit(b *testing.B, url string) {
	var list strings.Builder
	for i := range repos {
		fmt.Fprintf(&list, "%s/%04d.git\n", url, i)
	}
	cmd := exec.CommandContext(b.Context(), "xargs", "-P4", "-I{}", "git", "ls-remote", "{}", gittest.Main)
	cmd.Env, cmd.Stdin = gittest.Environment(), strings.NewReader(list.String())
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}
