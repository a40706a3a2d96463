// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Access is one answered request to the git server.
type Access struct {
	// Time is when the request came in.
	Time time.Time
	// Duration is how long it took to answer.
	Duration time.Duration
	// Repository is the name, as given to Create.
	Repository string
	// Service is git-upload-pack or git-receive-pack.
	Service string
	// Command is what a protocol v2 request asks for: "ls-refs", "fetch", or empty.
	Command string
	// Method is the HTTP method.
	Method string
	// Protocol is the Git-Protocol header ("version=2"); empty for versions 0 and 1.
	Protocol string
	// User is the basic-auth user; empty without credentials.
	User string
	// UserAgent is the client's own name for itself.
	UserAgent string
	// Status is the HTTP status; 0 where the connection was cut without an answer.
	Status int
}

// maxAccesses bounds the access log, for servers that run for days; the older half is
// forgotten when it is full.
const maxAccesses = 500_000

// Interceptor sees a request before the git server does. It may answer itself, change
// the request, wait, or pass it to next.
type Interceptor func(w http.ResponseWriter, r *http.Request, next http.Handler)

// gitHandler runs git http-backend for each request, behind faults, credentials and
// the access log.
type gitHandler struct {
	root    string
	backend string // path of the git-http-backend executable

	mu        sync.Mutex
	log       []Access
	faults    map[string]*activeFault // by repository; "" means all
	users     map[string]credentials  // by repository; "" means all
	intercept Interceptor
	observe   func(Access)
}

type credentials struct{ user, password string }

func newGitHandler(root string) (*gitHandler, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("failed to find git: %w", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return nil, fmt.Errorf("failed to find git http-backend: %w", err)
	}
	return &gitHandler{
		root:    root,
		backend: backend,
		faults:  map[string]*activeFault{},
		users:   map[string]credentials{},
	}, nil
}

// ServeHTTP implements http.Handler.
func (h *gitHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	access := Access{
		Time:       time.Now(),
		Repository: repositoryOf(r.URL.Path),
		Service:    serviceOf(r),
		Method:     r.Method,
		Protocol:   r.Header.Get("Git-Protocol"),
		UserAgent:  r.UserAgent(),
	}
	access.User, _, _ = r.BasicAuth()
	access.Command = peekCommand(r)
	recorder := &statusRecorder{ResponseWriter: w}
	defer func() {
		access.Status = recorder.status
		access.Duration = time.Since(access.Time)
		h.record(access)
	}()
	h.mu.Lock()
	intercept := h.intercept
	h.mu.Unlock()
	if intercept == nil {
		h.serve(recorder, r)
		return
	}
	intercept(recorder, r, http.HandlerFunc(h.serve))
}

// serve answers with the fault of the repository, a demand for credentials, or git.
func (h *gitHandler) serve(w http.ResponseWriter, r *http.Request) {
	name := repositoryOf(r.URL.Path)
	if fault := h.faultOf(name); fault != nil {
		fault.apply(w, r)
		return
	}
	if want, ok := h.credentialsOf(name); ok {
		if user, password, _ := r.BasicAuth(); user != want.user || password != want.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "credentials needed", http.StatusUnauthorized)
			return
		}
	}
	h.runBackend(w, r)
}

func (h *gitHandler) runBackend(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 { // chunked, which CGI has no notion of
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	backend := cgi.Handler{
		Path:   h.backend,
		Dir:    h.root,
		Stderr: io.Discard, // what git has to say to its client it says in the answer
		Env: append([]string{
			"GIT_PROJECT_ROOT=" + h.root,
			"GIT_HTTP_EXPORT_ALL=1",
			"GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"),
			// Anybody may push.
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.receivepack", "GIT_CONFIG_VALUE_0=true",
		}, gitEnvironment...),
	}
	backend.ServeHTTP(w, r)
}

func (h *gitHandler) record(access Access) {
	h.mu.Lock()
	if len(h.log) == maxAccesses {
		h.log = append(h.log[:0], h.log[maxAccesses/2:]...)
	}
	h.log = append(h.log, access)
	observe := h.observe
	h.mu.Unlock()
	if observe != nil {
		observe(access)
	}
}

func (h *gitHandler) credentialsOf(repository string) (credentials, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.users[repository]; ok {
		return c, true
	}
	c, ok := h.users[""]
	return c, ok
}

// repositoryOf takes the repository's name from a request path.
func repositoryOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), ".git")
	return name
}

func serviceOf(r *http.Request) string {
	if service := r.URL.Query().Get("service"); service != "" {
		return service
	}
	base := filepath.Base(r.URL.Path)
	if base == "git-upload-pack" || base == "git-receive-pack" {
		return base
	}
	return ""
}

// peekCommand reads the command line of a protocol v2 request ("0014command=ls-refs")
// and leaves the body as it was.
func peekCommand(r *http.Request) string {
	if r.Method != http.MethodPost || r.Body == nil {
		return ""
	}
	const enough = 512
	buffered := bufio.NewReaderSize(r.Body, enough)
	head, _ := buffered.Peek(enough) // a short body is a short head
	r.Body = struct {
		io.Reader
		io.Closer
	}{buffered, r.Body}
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return ""
		}
		plain := make([]byte, 64)
		n, _ := io.ReadFull(unzipped, plain)
		head = plain[:n]
	}
	_, rest, found := bytes.Cut(head, []byte("command="))
	if !found || len(head)-len(rest) > len("0000command=") {
		return ""
	}
	command, _, _ := strings.Cut(string(rest), "\n")
	return command
}

// statusRecorder remembers the status that was sent.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *statusRecorder) Write(content []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(content)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Accesses returns the requests answered so far, oldest first, that keep is true for;
// nil keeps all.
func (s *GitServer) Accesses(keep func(Access) bool) []Access {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	var kept []Access
	for _, access := range s.handler.log {
		if keep == nil || keep(access) {
			kept = append(kept, access)
		}
	}
	return kept
}

// OnAccess has every answered request reported to observe, from the request's own
// goroutine; nil ends that.
func (s *GitServer) OnAccess(observe func(Access)) {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	s.handler.observe = observe
}

// Intercept puts an interceptor before the server; nil removes it.
func (s *GitServer) Intercept(interceptor Interceptor) {
	s.handler.mu.Lock()
	defer s.handler.mu.Unlock()
	s.handler.intercept = interceptor
}

// RequireBasicAuth has every repository ask for these credentials; an empty user
// asks for none again.
func (s *GitServer) RequireBasicAuth(user, password string) {
	s.handler.requireBasicAuth("", user, password)
}

func (h *gitHandler) requireBasicAuth(repository, user, password string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if user == "" {
		delete(h.users, repository)
		return
	}
	h.users[repository] = credentials{user, password}
}

// waitFor returns when either is over.
func waitFor(ctx context.Context, released <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-released:
	}
}
