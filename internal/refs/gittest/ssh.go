// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Key is an SSH key pair.
type Key struct {
	Signer ssh.Signer
	// PEM is the private key, encrypted where a passphrase was given.
	PEM []byte
}

// NewKey makes a key; passphrase may be empty.
func NewKey(tb testing.TB, passphrase string) Key {
	tb.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return Key{Signer: signer, PEM: pem.EncodeToMemory(block)}
}

// SSH is an SSH server that runs git-upload-pack.
type SSH struct {
	// Root holds the repositories, Host is the server's key and User the only
	// one that it accepts.
	Root       string
	Host, User Key
	// Old ignores the protocol that a client asks for.
	Old bool
	// MaxSessions of a connection; zero is no limit.
	MaxSessions int64
	// Hang never answers a command.
	Hang atomic.Bool
	// Refusal is what people read, on standard output, where a command fails.
	Refusal string

	// Connections and Sessions count what was accepted.
	Connections, Sessions atomic.Int64

	tb       testing.TB
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// Start listens on loopback until the test ends.
func (s *SSH) Start(tb testing.TB) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.tb, s.listener, s.open = tb, listener, map[net.Conn]bool{}
	tb.Cleanup(func() {
		_ = listener.Close()
		s.Disconnect()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
}

// Address is host and port.
func (s *SSH) Address() string { return s.listener.Addr().String() }

// URL of a repository.
func (s *SSH) URL(path string) string { return "ssh://git@" + s.Address() + "/" + path }

// Disconnect closes all connections.
func (s *SSH) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		_ = conn.Close()
	}
}

func (s *SSH) serve(conn net.Conn) {
	s.mu.Lock()
	s.open[conn] = true
	s.mu.Unlock()
	defer func() { _ = conn.Close() }()
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(s.User.Signer.PublicKey().Marshal()) {
				return nil, fmt.Errorf("unknown key")
			}
			return nil, nil
		},
	}
	config.AddHostKey(s.Host.Signer)
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	s.Connections.Add(1)
	go ssh.DiscardRequests(requests)
	var sessions atomic.Int64
	for incoming := range channels {
		if s.MaxSessions > 0 && sessions.Load() >= s.MaxSessions {
			_ = incoming.Reject(ssh.ResourceShortage, "no more sessions")
			continue
		}
		channel, requests, err := incoming.Accept()
		if err != nil {
			return
		}
		s.Sessions.Add(1)
		sessions.Add(1)
		go func() {
			defer sessions.Add(-1)
			defer func() { _ = channel.Close() }()
			s.session(channel, requests)
		}()
	}
}

func (s *SSH) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	env := Environment()
	for request := range requests {
		switch request.Type {
		case "env":
			var variable struct{ Name, Value string }
			if ssh.Unmarshal(request.Payload, &variable) == nil && !s.Old {
				env = append(env, variable.Name+"="+variable.Value)
			}
		case "exec":
			var command struct{ Line string }
			_ = ssh.Unmarshal(request.Payload, &command)
			_ = request.Reply(true, nil)
			if s.Hang.Load() {
				continue
			}
			status := s.run(channel, command.Line, env)
			if status != 0 {
				_, _ = channel.Write([]byte(s.Refusal))
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
			return
		}
	}
}

// run runs git-upload-pack on the quoted path of a command line.
func (s *SSH) run(channel ssh.Channel, line string, env []string) uint32 {
	program, path, _ := strings.Cut(line, " ")
	if program != "git-upload-pack" {
		return 127
	}
	cmd := exec.Command("git", "upload-pack", "--strict", s.Root+strings.Trim(path, "'"))
	cmd.Env, cmd.Stdout = env, channel
	stdin, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := channel.Read(buffer)
			if _, failed := stdin.Write(buffer[:n]); err != nil || failed != nil {
				_ = stdin.Close()
				return
			}
		}
	}()
	if err := cmd.Wait(); err != nil {
		return 128
	}
	return 0
}
