// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/gittestserver"
	"github.com/fluxcd/pkg/ssh/knownhosts"
	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
	"github.com/isometry/wavefront-controller/internal/refs/transport"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// sshCredentials trust a host key.
func sshCredentials(t *testing.T, raw, address string, host ssh.PublicKey, user gittest.Key) *auth.Credentials {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.User = nil
	callback, algorithms, err := knownhosts.New([]byte(xknownhosts.Line([]string{address}, host)))
	if err != nil {
		t.Fatal(err)
	}
	return &auth.Credentials{URL: u, Pool: t.Name(), SSH: &auth.SSH{
		User: "git", Signer: user.Signer, HostKey: callback, HostKeyAlgorithms: algorithms,
	}}
}

// startSSH serves one repository over SSH.
func startSSH(t *testing.T, change func(*gittest.SSH)) (*gittest.SSH, *auth.Credentials, string) {
	t.Helper()
	root := t.TempDir()
	commit := gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	server := &gittest.SSH{Root: root, Host: gittest.NewKey(t, ""), User: gittest.NewKey(t, "")}
	change(server)
	server.Start(t)
	return server, sshCredentials(t, server.URL("repo.git"), server.Address(), server.Host.Signer.PublicKey(), server.User), commit
}

func TestSSH(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"version 2": false, "version 0": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server, c, commit := startSSH(t, func(s *gittest.SSH) { s.Old = old })
			repo := filepath.Join(server.Root, "repo.git")
			gittest.Fill(t, repo, 100_000)
			client := transport.New(transport.Options{})
			defer client.Close()
			for range 5 {
				refs, err := client.List(t.Context(), c, names(gittest.Main))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(refs).To(Equal([]wire.Ref{{Name: gittest.Main, Hash: commit}}))
			}
			g.Expect(server.Connections.Load()).To(Equal(int64(1)))
			g.Expect(server.Sessions.Load()).To(Equal(int64(5)))

			missing := *c
			missing.URL = &url.URL{Scheme: "ssh", Host: c.URL.Host, Path: "/none.git"}
			_, err := client.List(t.Context(), &missing, names(gittest.Main))
			g.Expect(fault.KindOf(err)).To(Equal(fault.NotFound), "%v", err)
			g.Expect(server.Connections.Load()).To(Equal(int64(1)))
		})
	}
}

func TestSSHRefusalForPeople(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, c, _ := startSSH(t, func(s *gittest.SSH) { s.Refusal = "Sorry, no such repository.\n" })
	c.URL.Path = "/none.git"
	_, err := transport.New(transport.Options{}).List(t.Context(), c, names(gittest.Main))
	g.Expect(fault.KindOf(err)).To(Equal(fault.NotFound), "%v", err)
	g.Expect(err.Error()).NotTo(ContainSubstring("Sorry"))
}

func TestSSHSHA256(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, c, _ := startSSH(t, func(*gittest.SSH) {})
	gittest.Init(t, filepath.Join(server.Root, "sha256.git"), "sha256")
	c.URL.Path = "/sha256.git"
	_, err := transport.New(transport.Options{}).List(t.Context(), c, names(gittest.Main))
	g.Expect(fault.KindOf(err)).To(Equal(fault.Unsupported), "%v", err)
}

func TestSSHSessionsShareConnections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		max  int64
		most int64
	}{
		{"as many as OpenSSH allows", 10, 3},
		{"a server that allows three", 3, 8},
		{"a server that allows one", 1, 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server, c, _ := startSSH(t, func(s *gittest.SSH) { s.MaxSessions = tt.max })
			client := transport.New(transport.Options{})
			defer client.Close()
			var wg sync.WaitGroup
			errs := make(chan error, 20)
			for range 20 {
				wg.Go(func() {
					_, err := client.List(t.Context(), c, names(gittest.Main))
					errs <- err
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(server.Connections.Load()).To(BeNumerically("<=", tt.most))
		})
	}
}

func TestSSHReconnects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, c, _ := startSSH(t, func(*gittest.SSH) {})
	client := transport.New(transport.Options{})
	defer client.Close()
	for range 3 {
		_, err := client.List(t.Context(), c, names(gittest.Main))
		g.Expect(err).NotTo(HaveOccurred())
		server.Disconnect()
	}
	g.Expect(server.Connections.Load()).To(Equal(int64(3)))
}

func TestSSHIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, c, _ := startSSH(t, func(*gittest.SSH) {})
	var mu sync.Mutex
	now := time.Now()
	client := transport.New(transport.Options{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	defer client.Close()
	for range 2 {
		_, err := client.List(t.Context(), c, names(gittest.Main))
		g.Expect(err).NotTo(HaveOccurred())
		mu.Lock()
		now = now.Add(6 * time.Minute)
		mu.Unlock()
	}
	g.Expect(server.Connections.Load()).To(Equal(int64(2)))
}

func TestSSHRefusals(t *testing.T) {
	t.Parallel()
	server, c, _ := startSSH(t, func(*gittest.SSH) {})
	other := gittest.NewKey(t, "")
	greeting := func(t *testing.T, says string) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if says == "" {
					t.Cleanup(func() { _ = conn.Close() })
					continue
				}
				_, _ = conn.Write([]byte(says))
				_ = conn.Close()
			}
		}()
		return listener.Addr().String()
	}
	tests := []struct {
		name   string
		change func(*testing.T, *auth.Credentials)
		kind   fault.Kind
		detail string
	}{
		{"another host key", func(t *testing.T, c *auth.Credentials) {
			*c.SSH = *sshCredentials(t, server.URL("repo.git"), server.Address(), other.Signer.PublicKey(), server.User).SSH
		}, fault.HostKey, "differs"},
		{"an unknown host", func(t *testing.T, c *auth.Credentials) {
			*c.SSH = *sshCredentials(t, server.URL("repo.git"), "example.com:22", server.Host.Signer.PublicKey(), server.User).SSH
		}, fault.HostKey, "not in known_hosts"},
		{"a refused key", func(_ *testing.T, c *auth.Credentials) { c.SSH.Signer = other.Signer }, fault.Unauthorized, "key"},
		{"a server that hangs", func(t *testing.T, c *auth.Credentials) {
			_, with, _ := startSSH(t, func(s *gittest.SSH) { s.Hang.Store(true) })
			*c = *with
		}, fault.Timeout, ""},
		{"no greeting", func(t *testing.T, c *auth.Credentials) { c.URL.Host = greeting(t, "") }, fault.Timeout, ""},
		{"no SSH", func(t *testing.T, c *auth.Credentials) { c.URL.Host = greeting(t, "HTTP/1.1 400 Bad Request\r\n\r\n") }, "", ""},
		{"nobody listens", func(_ *testing.T, c *auth.Credentials) { c.URL.Host = "127.0.0.1:1" }, fault.Unreachable, "refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			copied, u, s := *c, *c.URL, *c.SSH
			copied.URL, copied.SSH, copied.Pool = &u, &s, t.Name()
			tt.change(t, &copied)
			client := transport.New(transport.Options{})
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := client.List(ctx, &copied, names(gittest.Main))
			if tt.kind == "" {
				g.Expect(fault.KindOf(err)).To(BeElementOf(fault.Protocol, fault.Unreachable))
				return
			}
			g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tt.detail))
		})
	}
}

// TestSSHHangingRepositoryHurtsNobody shares a connection with a session that
// hangs.
func TestSSHHangingRepositoryHurtsNobody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, c, _ := startSSH(t, func(*gittest.SSH) {})
	client := transport.New(transport.Options{})
	defer client.Close()
	_, err := client.List(t.Context(), c, names(gittest.Main))
	g.Expect(err).NotTo(HaveOccurred())
	server.Hang.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = client.List(ctx, c, names(gittest.Main))
	g.Expect(fault.KindOf(err)).To(Equal(fault.Timeout))
	server.Hang.Store(false)
	_, err = client.List(t.Context(), c, names(gittest.Main))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.Connections.Load()).To(Equal(int64(2)), "a connection that hangs is not used again")
}

func TestSSHAlgorithms(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, c, _ := startSSH(t, func(*gittest.SSH) {})
	fine := transport.New(transport.Options{SSHKexAlgos: []string{"curve25519-sha256"}, SSHHostKeyAlgos: []string{ssh.KeyAlgoED25519}})
	defer fine.Close()
	_, err := fine.List(t.Context(), c, names(gittest.Main))
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range []transport.Options{
		{SSHHostKeyAlgos: []string{ssh.KeyAlgoECDSA256}},
		{SSHKexAlgos: []string{"diffie-hellman-group1-sha1"}},
	} {
		_, err = transport.New(o).List(t.Context(), c, names(gittest.Main))
		g.Expect(fault.KindOf(err)).To(Equal(fault.Protocol), "%v", err)
	}
}

func TestGitTestServerSSH(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, err := gittestserver.NewTempGitServer()
	g.Expect(err).NotTo(HaveOccurred())
	server.Auth("user", "pass")
	server.KeyDir(filepath.Join(server.Root(), "keys"))
	commit := gittest.Init(t, filepath.Join(server.Root(), "repo.git"), "sha1")
	g.Expect(server.ListenSSH()).To(Succeed())
	go func() { _ = server.StartSSH() }()
	t.Cleanup(func() { _ = server.StopSSH() })
	g.Expect(server.StartHTTP()).To(Succeed())
	t.Cleanup(server.StopHTTP)

	u, err := url.Parse(server.SSHAddress())
	g.Expect(err).NotTo(HaveOccurred())
	known := scan(t, u.Host)
	client := transport.New(transport.Options{})
	defer client.Close()
	c := sshCredentials(t, server.SSHAddress()+"/repo.git", u.Host, known, gittest.NewKey(t, ""))
	refs, err := client.List(t.Context(), c, names(gittest.Main))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(refs).To(Equal([]wire.Ref{{Name: gittest.Main, Hash: commit}}))
	c.URL.Path = "/none.git"
	_, err = client.List(t.Context(), c, names(gittest.Main))
	g.Expect(fault.KindOf(err)).To(Equal(fault.NotFound), "%v", err)

	h := credentials(t, server.HTTPAddress()+"/repo.git", auth.HTTP{Username: "user", Password: "pass"})
	refs, err = client.List(t.Context(), h, names(gittest.Main))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(refs).To(Equal([]wire.Ref{{Name: gittest.Main, Hash: commit}}))
	h.HTTP.Password = "wrong"
	_, err = client.List(t.Context(), h, names(gittest.Main))
	g.Expect(fault.KindOf(err)).To(Equal(fault.Unauthorized), "%v", err)
}

// scan returns the host key of a server.
func scan(t *testing.T, address string) ssh.PublicKey {
	t.Helper()
	var found ssh.PublicKey
	_, _ = ssh.Dial("tcp", address, &ssh.ClientConfig{
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error { found = key; return nil },
	})
	if found == nil {
		t.Fatal("failed to read the host key")
	}
	return found
}
