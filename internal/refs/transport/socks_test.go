// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
	"github.com/isometry/wavefront-controller/internal/refs/transport"
)

// socks is a SOCKS5 proxy (RFC 1928) with user and password (RFC 1929).
type socks struct {
	user, password string
	served         atomic.Int64
	listener       net.Listener
}

func startSOCKS(t *testing.T, user, password string) *socks {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &socks{user: user, password: password, listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *socks) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	// field reads as many bytes as the byte before them says.
	field := func() []byte {
		length := make([]byte, 1)
		if _, err := io.ReadFull(conn, length); err != nil {
			return nil
		}
		b := make([]byte, length[0])
		_, _ = io.ReadFull(conn, b)
		return b
	}
	fixed := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(conn, b)
		return b
	}
	fixed(1)
	field()
	_, _ = conn.Write([]byte{5, 2})
	fixed(1)
	user, password := field(), field()
	if string(user) != s.user || string(password) != s.password {
		_, _ = conn.Write([]byte{1, 1})
		return
	}
	_, _ = conn.Write([]byte{1, 0})
	request := fixed(4)
	var host string
	switch request[3] {
	case 1:
		host = net.IP(fixed(4)).String()
	default:
		host = string(field())
	}
	port := strconv.Itoa(int(binary.BigEndian.Uint16(fixed(2))))
	there, err := net.Dial("tcp", net.JoinHostPort(host, port))
	if err != nil {
		_, _ = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer func() { _ = there.Close() }()
	s.served.Add(1)
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() { _, _ = io.Copy(there, conn) }()
	_, _ = io.Copy(conn, there)
}

func TestSOCKSProxy(t *testing.T) {
	t.Parallel()
	_, overSSH, _ := startSSH(t, func(*gittest.SSH) {})
	root := t.TempDir()
	gittest.Init(t, filepath.Join(root, "repo.git"), "sha1")
	_, base := serve(t, gittest.Backend(t, root, false))
	overHTTP := credentials(t, base+"/repo.git", auth.HTTP{})
	for name, c := range map[string]*auth.Credentials{"SSH": overSSH, "HTTP": overHTTP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			proxy := startSOCKS(t, "user", secretWord)
			client := transport.New(transport.Options{})
			defer client.Close()
			through := *c
			through.Pool = t.Name()
			through.Proxy = &url.URL{Scheme: "socks5", Host: proxy.listener.Addr().String(), User: url.UserPassword("user", secretWord)}
			refs, err := client.List(t.Context(), &through, names(gittest.Main))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(refs).To(HaveLen(1))
			g.Expect(proxy.served.Load()).To(Equal(int64(1)))

			through.Pool += "wrong"
			through.Proxy = &url.URL{Scheme: "socks5", Host: proxy.listener.Addr().String(), User: url.UserPassword("user", "wrong")}
			_, err = client.List(t.Context(), &through, names(gittest.Main))
			g.Expect(fault.KindOf(err)).To(Equal(fault.Unreachable), "%v", err)
			g.Expect(err.Error()).NotTo(ContainSubstring("wrong"))
			g.Expect(err.Error()).To(ContainSubstring("the proxy"))
		})
	}
}
