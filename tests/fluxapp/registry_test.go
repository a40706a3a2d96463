// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

const (
	user     = "robot"
	password = "correct-horse"
)

// server is an HTTP server on loopback that asks for a password, or not, and
// that can be taken down and brought up again at its address.
type server struct {
	handler http.Handler
	private bool
	secure  bool

	address string
	ca      []byte
	running *httptest.Server
}

func newServer(t *testing.T, handler http.Handler, secure, private bool) *server {
	t.Helper()
	s := &server{handler: handler, secure: secure, private: private, address: "127.0.0.1:0"}
	s.up(t)
	t.Cleanup(s.down)
	return s
}

func (s *server) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatalf("failed to listen on %s: %v", s.address, err)
	}
	s.running = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.running.Listener = listener
	s.running.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.address = listener.Addr().String()
	if !s.secure {
		s.running.Start()
		return
	}
	s.running.StartTLS()
	s.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.running.Certificate().Raw})
}

func (s *server) down() {
	if s.running != nil {
		s.running.CloseClientConnections()
		s.running.Close()
		s.running = nil
	}
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	given, secret, _ := r.BasicAuth()
	if s.private && (given != user || secret != password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
		return
	}
	s.handler.ServeHTTP(w, r)
}

// transport trusts the server.
func transport(ca []byte) http.RoundTripper {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
}

// ociRegistry is an OCI registry.
type ociRegistry struct{ *server }

func newOCIRegistry(t *testing.T, private bool) *ociRegistry {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	return &ociRegistry{newServer(t, handler, true, private)}
}

// chartURL is the value of spec.chart.repository for a chart at a path.
func (r *ociRegistry) chartURL(path string) string {
	return "oci://" + r.address + "/" + path
}

// push publishes a chart as 'helm push' does: the tag has '_' for '+'.
func (r *ociRegistry) push(t *testing.T, repository, version string) {
	t.Helper()
	packed := chart{name: path.Base(repository), version: version}.archive()
	layer := static.NewLayer(packed, types.MediaType("application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatalf("failed to build image: %v", err)
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1),
		types.MediaType("application/vnd.cncf.helm.config.v1+json"))
	tag, err := name.NewTag(fmt.Sprintf("%s/%s:%s", r.address, repository, strings.ReplaceAll(version, "+", "_")))
	if err != nil {
		t.Fatalf("failed to name tag: %v", err)
	}
	err = remote.Write(tag, image, remote.WithContext(context.Background()), remote.WithTransport(transport(r.ca)),
		remote.WithAuth(&authn.Basic{Username: user, Password: password}))
	if err != nil {
		t.Fatalf("failed to push %s: %v", tag, err)
	}
}

// chartRepository is a chart repository over HTTP: an index and archives.
type chartRepository struct {
	*server
	mu     sync.Mutex
	charts []chart
}

func newChartRepository(t *testing.T, secure, private bool) *chartRepository {
	t.Helper()
	r := &chartRepository{}
	r.server = newServer(t, http.HandlerFunc(r.answer), secure, private)
	return r
}

// chartURL is the value of spec.chart.repository for a chart.
func (r *chartRepository) chartURL(name string) string {
	scheme := "http://"
	if r.secure {
		scheme = "https://"
	}
	return scheme + r.address + "/charts/" + name
}

func (r *chartRepository) publish(name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.charts = append(r.charts, chart{name: name, version: version})
}

func (r *chartRepository) answer(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.URL.Path == "/charts/index.yaml" {
		_, _ = w.Write(r.index())
		return
	}
	for _, c := range r.charts {
		if request.URL.Path == "/charts/"+c.file() {
			_, _ = w.Write(c.archive())
			return
		}
	}
	http.NotFound(w, request)
}

func (c chart) file() string { return c.name + "-" + c.version + ".tgz" }

func (r *chartRepository) index() []byte {
	entries := map[string][]map[string]any{}
	for _, c := range r.charts {
		entries[c.name] = append(entries[c.name], map[string]any{
			"apiVersion": "v2", "name": c.name, "version": c.version, "urls": []string{c.file()},
		})
	}
	content, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": entries})
	if err != nil {
		panic(err)
	}
	return content
}
