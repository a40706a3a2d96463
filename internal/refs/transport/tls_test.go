// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
	"github.com/isometry/wavefront-controller/internal/refs/transport"
)

// authority is a private certificate authority.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// bundle is its certificate in PEM.
	bundle []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "private"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue makes a certificate for a host or client, valid until end.
func (a *authority) issue(host string, end time.Time) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func serveTLS(t *testing.T, h http.Handler, config *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.TLS = config
	server.Config.ErrorLog = discardLog()
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func TestTLS(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	commit := gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	ours, other := newAuthority(t), newAuthority(t)
	soon := time.Now().Add(time.Hour)
	server, client := ours.issue("127.0.0.1", soon), ours.issue("client", soon)
	plainTLS := &tls.Config{Certificates: []tls.Certificate{server}}
	mutual := &tls.Config{
		Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.pool(),
	}
	tests := []struct {
		name   string
		server *tls.Config
		http   auth.HTTP
		kind   fault.Kind
	}{
		{"private authority", plainTLS, auth.HTTP{CA: ours.bundle}, ""},
		{"unknown authority", plainTLS, auth.HTTP{}, fault.TLS},
		{"another authority", plainTLS, auth.HTTP{CA: other.bundle}, fault.TLS},
		{"unreadable bundle", plainTLS, auth.HTTP{CA: []byte("nonsense")}, fault.TLS},
		{"client certificate", mutual, auth.HTTP{CA: ours.bundle, Certificates: []tls.Certificate{client}}, ""},
		{"no client certificate", mutual, auth.HTTP{CA: ours.bundle}, fault.TLS},
		{"client of another authority", mutual, auth.HTTP{CA: ours.bundle, Certificates: []tls.Certificate{other.issue("client", soon)}}, fault.TLS},
		{"wrong host", &tls.Config{Certificates: []tls.Certificate{ours.issue("localhost", soon)}}, auth.HTTP{CA: ours.bundle}, fault.TLS},
		{"expired", &tls.Config{Certificates: []tls.Certificate{ours.issue("127.0.0.1", time.Now().Add(-time.Hour))}}, auth.HTTP{CA: ours.bundle}, fault.TLS},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			base := serveTLS(t, gittest.Backend(t, root, false), tt.server.Clone())
			lister := transport.New(transport.Options{})
			defer lister.Close()
			for range 2 {
				refs, err := lister.List(t.Context(), credentials(t, base+"/repo.git", tt.http), names(gittest.Main))
				if tt.server == mutual && tt.kind != "" {
					// The alert may be overtaken by the reset of the connection.
					g.Expect(fault.KindOf(err)).To(BeElementOf(fault.TLS, fault.Unreachable))
					continue
				}
				g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
				if tt.kind == "" {
					g.Expect(refs).To(HaveLen(1))
					g.Expect(refs[0].Hash).To(Equal(commit))
				}
			}
		})
	}
}

// TestClientCertificateStaysAtHome redirects to another host that asks for a
// client certificate, too.
func TestClientCertificateStaysAtHome(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	ours := newAuthority(t)
	config := func() *tls.Config {
		return &tls.Config{
			Certificates: []tls.Certificate{ours.issue("127.0.0.1", time.Now().Add(time.Hour))},
			ClientAuth:   tls.RequestClientCert,
		}
	}
	var shown atomic.Int64
	abroad := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown.Add(int64(len(r.TLS.PeerCertificates)))
		gittest.Backend(t, root, false).ServeHTTP(w, r)
	}), config())
	home := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.Redirect(w, r, abroad+r.URL.RequestURI(), http.StatusFound)
	}), config())
	lister := transport.New(transport.Options{})
	defer lister.Close()
	h := auth.HTTP{CA: ours.bundle, Certificates: []tls.Certificate{ours.issue("client", time.Now().Add(time.Hour))}}
	_, err := lister.List(t.Context(), credentials(t, home+"/repo.git", h), names(gittest.Main))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown.Load()).To(BeZero())
}

// forward is a forward proxy with basic auth, for plain requests and CONNECT.
func forward(t *testing.T, user, password string) (string, *atomic.Int64) {
	t.Helper()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		probe := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
		if u, p, _ := probe.BasicAuth(); u != user || p != password {
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		served.Add(1)
		if r.Method != http.MethodConnect {
			r.RequestURI = ""
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer func() { _ = response.Body.Close() }()
			w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
			w.WriteHeader(response.StatusCode)
			_, _ = io.Copy(w, response.Body)
			return
		}
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = there.Close() }()
		w.WriteHeader(http.StatusOK)
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = here.Close() }()
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(server.Close)
	return server.URL, &served
}

func TestForwardProxy(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	ours := newAuthority(t)
	_, plainURL := serve(t, gittest.Backend(t, root, false))
	tlsURL := serveTLS(t, gittest.Backend(t, root, false),
		&tls.Config{Certificates: []tls.Certificate{ours.issue("127.0.0.1", time.Now().Add(time.Hour))}})
	tests := []struct {
		name string
		base string
		user *url.Userinfo
		kind fault.Kind
	}{
		{"plain", plainURL, url.UserPassword("user", secretWord), ""},
		{"TLS", tlsURL, url.UserPassword("user", secretWord), ""},
		{"plain, wrong password", plainURL, url.UserPassword("user", "wrong"), fault.Credentials},
		{"TLS, wrong password", tlsURL, url.UserPassword("user", "wrong"), fault.Credentials},
		{"TLS, no password", tlsURL, nil, fault.Credentials},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			raw, served := forward(t, "user", secretWord)
			proxy, err := url.Parse(raw)
			g.Expect(err).NotTo(HaveOccurred())
			proxy.User = tt.user
			lister := transport.New(transport.Options{})
			defer lister.Close()
			c := credentials(t, tt.base+"/repo.git", auth.HTTP{CA: ours.bundle})
			c.Proxy = proxy
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err = lister.List(ctx, c, names(gittest.Main))
			g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
			if err != nil {
				g.Expect(err.Error()).NotTo(ContainSubstring("wrong"))
				return
			}
			g.Expect(served.Load()).To(BeNumerically(">", 0))
		})
	}
	t.Run("dead", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		c := credentials(t, tlsURL+"/repo.git", auth.HTTP{})
		c.Proxy = &url.URL{Scheme: "http", Host: "127.0.0.1:1", User: url.UserPassword("user", secretWord)}
		_, err := transport.New(transport.Options{}).List(t.Context(), c, names(gittest.Main))
		g.Expect(fault.KindOf(err)).To(Equal(fault.Unreachable), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("the proxy"))
		g.Expect(err.Error()).NotTo(ContainSubstring(secretWord))
	})
}

// gate passes connections on to an address, until it is told to swallow what those
// send that are there.
type gate struct {
	net.Listener
	swallow atomic.Int64
	opened  atomic.Int64
}

func openGate(t *testing.T, to string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: listener}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.pass(t, conn, to, g.opened.Add(1))
		}
	}()
	return g
}

func (g *gate) pass(t *testing.T, conn net.Conn, to string, number int64) {
	there, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { _ = errors.Join(conn.Close(), there.Close()) })
	go func() { _, _ = io.Copy(conn, there) }()
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if number > g.swallow.Load() {
			_, _ = there.Write(buffer[:n])
		}
	}
}

// TestSilentConnectionIsReplaced: a connection that leads nowhere any more is given up
// although there is always somebody who waits for an answer on it.
func TestSilentConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ca := newAuthority(t)
	commit := strings.Repeat("1", 40)
	server := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			_, _ = io.WriteString(w, "003d"+commit+" refs/heads/main\n0000")
		}
	}), &tls.Config{Certificates: []tls.Certificate{ca.issue("127.0.0.1", time.Now().Add(time.Hour))}})
	gate := openGate(t, strings.TrimPrefix(server, "https://"))

	c := transport.New(transport.Options{Silence: 50 * time.Millisecond})
	t.Cleanup(c.Close)
	list := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := c.List(ctx, credentials(t, "https://"+gate.Addr().String()+"/repo", auth.HTTP{CA: ca.bundle}), names("refs/heads/main"))
		return err
	}
	g.Expect(list()).To(Succeed())
	gate.swallow.Store(1)
	var busy sync.WaitGroup
	failures := atomic.Int64{}
	for range 4 {
		busy.Go(func() {
			for list() != nil && t.Context().Err() == nil {
				if failures.Add(1) > 40 {
					t.Error("it keeps the connection")
					return
				}
			}
		})
	}
	busy.Wait()
	g.Expect(gate.opened.Load()).To(BeNumerically(">=", 2))
}
