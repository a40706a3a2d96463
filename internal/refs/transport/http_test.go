// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
	"github.com/isometry/wavefront-controller/internal/refs/transport"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// credentials for a URL; each test has its own pool.
func credentials(t *testing.T, raw string, h auth.HTTP) *auth.Credentials {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &auth.Credentials{URL: u, HTTP: &h, Pool: t.Name()}
}

func names(n ...string) wire.Query { return wire.Query{Names: n} }

// recorder notes what requests were made.
type recorder struct {
	http.Handler
	mu   sync.Mutex
	seen []*http.Request
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, q)
	r.mu.Unlock()
	r.Handler.ServeHTTP(w, q)
}

// take returns methods and paths since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, q := range r.seen {
		all = append(all, q.Method+" "+q.URL.Path)
	}
	r.seen = nil
	return all
}

func serve(t *testing.T, h http.Handler) (*recorder, string) {
	t.Helper()
	r := &recorder{Handler: h}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.URL
}

func TestGitHTTPBackend(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := filepath.Join(root, "repo.git")
	commit := gittest.Init(t, repo, "sha1")
	tag := gittest.Tag(t, repo, "v1")
	gittest.Init(t, filepath.Join(root, "sha256.git"), "sha256")
	gittest.Fill(t, repo, 3000)
	post, get := "POST /repo.git/git-upload-pack", "GET /repo.git/info/refs"
	tests := []struct {
		name   string
		old    bool
		first  []string
		second []string
	}{
		{name: "version 2", first: []string{post}, second: []string{post}},
		{name: "version 0", old: true, first: []string{post, get}, second: []string{get}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			seen, base := serve(t, gittest.Backend(t, root, tt.old))
			client := transport.New(transport.Options{})
			defer client.Close()
			c := credentials(t, base+"/repo.git", auth.HTTP{})
			refs, err := client.List(t.Context(), c, names(gittest.Main))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(refs).To(Equal([]wire.Ref{{Name: gittest.Main, Hash: commit}}))
			g.Expect(seen.take()).To(Equal(tt.first))

			refs, err = client.List(t.Context(), c, names("HEAD", "refs/tags/v1", gittest.Main))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(refs).To(ConsistOf(
				wire.Ref{Name: "HEAD", Hash: commit, Target: gittest.Main},
				wire.Ref{Name: gittest.Main, Hash: commit},
				wire.Ref{Name: "refs/tags/v1", Hash: tag, Peeled: commit},
			))
			g.Expect(seen.take()).To(Equal(tt.second))

			refs, err = client.List(t.Context(), c, names("refs/heads/none"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(refs).To(BeEmpty())
			_, err = client.List(t.Context(), credentials(t, base+"/none.git", auth.HTTP{}), names(gittest.Main))
			g.Expect(fault.KindOf(err)).To(Equal(fault.NotFound))
			_, err = client.List(t.Context(), credentials(t, base+"/sha256.git", auth.HTTP{}), names(gittest.Main))
			g.Expect(fault.KindOf(err)).To(Equal(fault.Unsupported))
		})
	}
}

func TestServerIsUpgraded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	old, current := gittest.Backend(t, root, true), gittest.Backend(t, root, false)
	handler := old
	seen, base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	client := transport.New(transport.Options{})
	defer client.Close()
	list := func() []string {
		_, err := client.List(t.Context(), credentials(t, base+"/repo.git", auth.HTTP{}), names(gittest.Main))
		g.Expect(err).NotTo(HaveOccurred())
		return seen.take()
	}
	g.Expect(list()).To(HaveLen(2))
	g.Expect(list()).To(Equal([]string{"GET /repo.git/info/refs"}))
	handler = current
	g.Expect(list()).To(Equal([]string{"GET /repo.git/info/refs", "POST /repo.git/git-upload-pack"}))
	g.Expect(list()).To(Equal([]string{"POST /repo.git/git-upload-pack"}))
	handler = old
	g.Expect(list()).To(HaveLen(2))
	g.Expect(list()).To(Equal([]string{"GET /repo.git/info/refs"}))
}

func TestRelearnsNowAndThen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	seen, base := serve(t, gittest.Backend(t, root, true))
	now := time.Now()
	client := transport.New(transport.Options{Now: func() time.Time { return now }})
	defer client.Close()
	list := func() []string {
		_, err := client.List(t.Context(), credentials(t, base+"/repo.git", auth.HTTP{}), names(gittest.Main))
		g.Expect(err).NotTo(HaveOccurred())
		return seen.take()
	}
	g.Expect(list()).To(HaveLen(2))
	for range 6 {
		now = now.Add(10 * time.Minute)
		g.Expect(list()).To(HaveLen(1))
	}
	now = now.Add(10 * time.Minute)
	g.Expect(list()).To(HaveLen(2))
}

func TestCredentialsOfTheFirstRequest(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass"))
	tests := []struct {
		name string
		http auth.HTTP
		want string
	}{
		{"none", auth.HTTP{}, ""},
		{"basic", auth.HTTP{Username: "user", Password: "pass"}, basic},
		{"password only", auth.HTTP{Password: "pass"}, "Basic " + base64.StdEncoding.EncodeToString([]byte(":pass"))},
		{"bearer", auth.HTTP{BearerToken: "token"}, "Bearer token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			seen, base := serve(t, gittest.Backend(t, root, false))
			client := transport.New(transport.Options{})
			defer client.Close()
			_, err := client.List(t.Context(), credentials(t, base+"/repo.git/", tt.http), names(gittest.Main))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(seen.seen).To(HaveLen(1))
			g.Expect(seen.seen[0].URL.Path).To(Equal("/repo.git/git-upload-pack"))
			g.Expect(seen.seen[0].Header.Get("Authorization")).To(Equal(tt.want))
			g.Expect(seen.seen[0].Header.Get("Git-Protocol")).To(Equal("version=2"))
		})
	}
}

// TestRedirect moves a repository within its host and to another one.
func TestRedirect(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	commit := gittest.Init(t, filepath.Join(root, "new.git"), "sha1")
	for _, abroad := range []bool{false, true} {
		name := "within the host"
		if abroad {
			name = "to another host"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			there, to := serve(t, gittest.Backend(t, root, false))
			here, base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/old.git/info/refs" {
					target := "/new.git/info/refs?service=git-upload-pack"
					if abroad {
						target = to + target
					}
					http.Redirect(w, r, target, http.StatusMovedPermanently)
					return
				}
				if r.URL.Path == "/old.git/git-upload-pack" {
					http.Redirect(w, r, to+"/new.git/git-upload-pack", http.StatusTemporaryRedirect)
					return
				}
				gittest.Backend(t, root, false).ServeHTTP(w, r)
			}))
			client := transport.New(transport.Options{})
			defer client.Close()
			c := credentials(t, base+"/old.git", auth.HTTP{Username: "user", Password: "secret"})
			for range 2 {
				refs, err := client.List(t.Context(), c, names(gittest.Main))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(refs).To(Equal([]wire.Ref{{Name: gittest.Main, Hash: commit}}))
			}
			g.Expect(there.seen).To(HaveLen(map[bool]int{false: 0, true: 3}[abroad]))
			for _, r := range there.seen {
				g.Expect(r.Header).NotTo(HaveKey("Authorization"), "credentials must not follow")
			}
			for _, r := range here.seen {
				g.Expect(r.Header).To(HaveKey("Authorization"))
			}
			// The new place is remembered.
			if abroad {
				g.Expect(here.take()).To(Equal([]string{"POST /old.git/git-upload-pack", "GET /old.git/info/refs"}))
			}
		})
	}
}

func TestManyRefsOfAnOldServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	repo := filepath.Join(root, "repo.git")
	commit := gittest.Init(t, repo, "sha1")
	gittest.Fill(t, repo, 800_000)
	_, base := serve(t, gittest.Backend(t, root, true))
	client := transport.New(transport.Options{})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Branches come first, so the answer is known at once.
	refs, err := client.List(ctx, credentials(t, base+"/repo.git", auth.HTTP{}), names(gittest.Main))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(refs).To(Equal([]wire.Ref{{Name: gittest.Main, Hash: commit}}))
	_, err = client.List(ctx, credentials(t, base+"/repo.git", auth.HTTP{}), names("refs/zzz"))
	g.Expect(fault.KindOf(err)).To(Equal(fault.TooLarge))
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
