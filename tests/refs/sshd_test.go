// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
)

// sshd is an OpenSSH server on loopback, run as whoever runs the test.
type sshd struct {
	address, user string
	hosts         []gittest.Key
	log           string
}

// startSSHD runs OpenSSH's server with more lines of configuration.
func startSSHD(t *testing.T, authorized []gittest.Key, lines ...string) *sshd {
	t.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		if _, err := os.Stat("/usr/sbin/sshd"); err == nil {
			program = "/usr/sbin/sshd"
		}
	}
	need(t, program != "", "sshd", "apt-get install openssh-server")
	if os.Getuid() == 0 {
		// Where OpenSSH separates its privileges.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sshd{address: listener.Addr().String(), user: me.Username}
	_ = listener.Close()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var keys []byte
	for _, k := range authorized {
		keys = append(keys, ssh.MarshalAuthorizedKey(k.Signer.PublicKey())...)
	}
	host, port, _ := net.SplitHostPort(s.address)
	s.hosts = []gittest.Key{gittest.NewKey(t, ""), rsaKey(t)}
	s.log = filepath.Join(dir, "log")
	config := append([]string{
		"ListenAddress " + host, "Port " + port, "PidFile none", "StrictModes no", "UsePAM no",
		"PasswordAuthentication no", "PermitRootLogin prohibit-password", "LogLevel VERBOSE",
		"AuthorizedKeysFile " + write("authorized_keys", keys),
		"HostKey " + write("ed25519", s.hosts[0].PEM), "HostKey " + write("rsa", s.hosts[1].PEM),
	}, lines...)
	cmd := exec.Command(program, "-D", "-E", s.log, "-f", write("config", []byte(strings.Join(config, "\n")+"\n")))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	NewWithT(t).Eventually(func() error {
		conn, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}, "10s").Should(Succeed(), "sshd did not start")
	return s
}

func rsaKey(t *testing.T) gittest.Key {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "rsa")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("failed to make a key: %v: %s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if block, _ := pem.Decode(content); block == nil {
		t.Fatal("not a key")
	}
	signer, err := ssh.ParsePrivateKey(content)
	if err != nil {
		t.Fatal(err)
	}
	return gittest.Key{Signer: signer, PEM: content}
}

// knows renders known_hosts with one key of the server.
func (s *sshd) knows(k gittest.Key) string {
	return knownhosts.Line([]string{s.address}, k.Signer.PublicKey()) + "\n"
}

// hashed renders the same with the host hashed.
func (s *sshd) hashed(k gittest.Key) string {
	_, key, _ := strings.Cut(s.knows(k), " ")
	return knownhosts.HashHostname(knownhosts.Normalize(s.address)) + " " + key
}

func (s *sshd) url(path string) string { return "ssh://" + s.user + "@" + s.address + path }

// logged counts lines of the server's log that contain some words.
func (s *sshd) logged(words string) int {
	content, _ := os.ReadFile(s.log)
	return strings.Count(string(content), words)
}

func TestOpenSSH(t *testing.T) {
	t.Parallel()
	plain, encrypted, stranger := gittest.NewKey(t, ""), gittest.NewKey(t, "passphrase"), gittest.NewKey(t, "")
	repo := filepath.Join(t.TempDir(), "repo.git")
	commit := gittest.Init(t, repo, "sha1")
	gittest.Fill(t, repo, 20_000)
	for _, version := range []string{"version 2", "version 0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var lines []string
			if version == "version 2" {
				lines = append(lines, "AcceptEnv GIT_PROTOCOL")
			}
			server := startSSHD(t, []gittest.Key{plain, encrypted}, lines...)
			ed25519, rsa := server.hosts[0], server.hosts[1]
			identity := string(plain.PEM)
			tests := []struct {
				name   string
				url    string
				secret map[string]string
				kind   fault.Kind
			}{
				{"plain key", server.url(repo), map[string]string{"identity": identity, "known_hosts": server.knows(ed25519)}, ""},
				{"encrypted key", server.url(repo), map[string]string{"identity": string(encrypted.PEM), "password": "passphrase", "known_hosts": server.knows(ed25519)}, ""},
				{"RSA host key", server.url(repo), map[string]string{"identity": identity, "known_hosts": server.knows(rsa)}, ""},
				{"hashed known_hosts with several keys", server.url(repo), map[string]string{"identity": identity, "known_hosts": "# keys\n" + server.hashed(rsa) + server.hashed(ed25519) + "example.com " + strings.SplitN(server.knows(stranger), " ", 2)[1]}, ""},
				{"no such repository", server.url(repo + "x"), map[string]string{"identity": identity, "known_hosts": server.knows(ed25519)}, fault.NotFound},
				{"changed host key", server.url(repo), map[string]string{"identity": identity, "known_hosts": server.knows(stranger)}, fault.HostKey},
				{"unknown host", server.url(repo), map[string]string{"identity": identity, "known_hosts": "example.com " + strings.SplitN(server.knows(ed25519), " ", 2)[1]}, fault.HostKey},
				{"unknown key", server.url(repo), map[string]string{"identity": string(stranger.PEM), "known_hosts": server.knows(ed25519)}, fault.Unauthorized},
			}
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					g := NewWithT(t)
					got, err := list(t.Context(), lister(t, secret("s", tt.secret)), source("app", tt.url, "s"))
					g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
					if tt.kind == "" {
						g.Expect(got).To(Equal(commit))
					}
				})
			}
		})
	}
}

// TestOpenSSHSessions lists many repositories over one connection, and over a few
// where the server allows few sessions.
func TestOpenSSHSessions(t *testing.T) {
	t.Parallel()
	key := gittest.NewKey(t, "")
	repo := filepath.Join(t.TempDir(), "repo.git")
	commit := gittest.Init(t, repo, "sha1")
	for _, allowed := range []int{10, 2} {
		t.Run(fmt.Sprintf("MaxSessions=%d", allowed), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server := startSSHD(t, []gittest.Key{key}, "AcceptEnv GIT_PROTOCOL", fmt.Sprintf("MaxSessions %d", allowed))
			l := lister(t, secret("s", map[string]string{"identity": string(key.PEM), "known_hosts": server.knows(server.hosts[0])}))
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for i := range 10 {
						got, err := list(t.Context(), l, source(fmt.Sprintf("app%d", i), server.url(repo), "s"))
						g.Expect(err).NotTo(HaveOccurred())
						g.Expect(got).To(Equal(commit))
					}
				})
			}
			wg.Wait()
			most := 1
			if allowed == 2 {
				most = 10
			}
			g.Expect(server.logged("Accepted publickey")).To(BeNumerically("<=", most))
		})
	}
}
