// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/isometry/wavefront-controller/tests/env"
)

// gateway stands between a controller and the API server, as a load balancer does. It
// passes everything on, credentials included, and can leave events unanswered.
type gateway struct {
	server *httptest.Server
	next   http.Handler

	mu      sync.Mutex
	hanging chan struct{} // nil while events pass
	unheard int
}

func newGateway(t *testing.T, e *env.Env) *gateway {
	t.Helper()
	g := NewWithT(t)
	// The API server's authorities, and no credentials: those come with the requests.
	config := rest.AnonymousClientConfig(e.Config())
	transport, err := rest.TransportFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	w := &gateway{next: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
	}}
	w.server = httptest.NewUnstartedServer(w)
	w.server.EnableHTTP2 = true
	w.server.StartTLS()
	t.Cleanup(func() {
		w.heal()
		w.server.CloseClientConnections()
		w.server.Close()
	})
	return w
}

// kubeconfig is the controller's own access, by way of the gateway.
func (w *gateway) kubeconfig(ctx context.Context, t *testing.T, e *env.Env) string {
	t.Helper()
	g := NewWithT(t)
	config, err := e.ConfigFor(ctx, env.RuntimeNamespace, env.ControllerName)
	g.Expect(err).NotTo(HaveOccurred())
	config.Host = w.server.URL
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	path := filepath.Join(t.TempDir(), "kubeconfig.yaml")
	g.Expect(env.WriteKubeconfig(path, config)).To(Succeed())
	return path
}

// ServeHTTP implements http.Handler.
func (w *gateway) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/events") && !w.pass(r.Context()) {
		return
	}
	w.next.ServeHTTP(answer, r)
}

// pass waits until events pass; false where nobody waits for the answer any more.
func (w *gateway) pass(ctx context.Context) bool {
	w.mu.Lock()
	hanging := w.hanging
	if hanging != nil {
		w.unheard++
	}
	w.mu.Unlock()
	if hanging == nil {
		return true
	}
	select {
	case <-hanging:
		return true
	case <-ctx.Done():
		return false
	}
}

// hang leaves events unanswered from now on.
func (w *gateway) hang() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hanging == nil {
		w.hanging = make(chan struct{})
	}
}

// heal lets events pass, also those that hang.
func (w *gateway) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hanging != nil {
		close(w.hanging)
		w.hanging = nil
	}
}

// held is how many requests were left unanswered.
func (w *gateway) held() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unheard
}
