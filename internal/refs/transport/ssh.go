// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// exitTime is how long a session that gave no answer may take to end.
const exitTime = time.Second

// sshClient lists over SSH.
type sshClient struct {
	options Options
	lanes   *lanes
}

func newSSHClient(o Options) *sshClient {
	return &sshClient{options: o, lanes: newLanes(o)}
}

func (s *sshClient) close() { s.lanes.close() }

// errDead says that a connection died under a session before it gave an answer.
var errDead = errors.New("the connection was lost")

// list runs git-upload-pack in a session. A kept connection may have died since
// it was used, which is no failure of the listing: it is made once more.
func (s *sshClient) list(ctx context.Context, c *auth.Credentials, q wire.Query) ([]wire.Ref, error) {
	refs, reused, err := s.attempt(ctx, c, q)
	if errors.Is(err, errDead) && reused && ctx.Err() == nil {
		refs, _, err = s.attempt(ctx, c, q)
	}
	return refs, err
}

// attempt makes one attempt, and tells whether it was on a connection that had
// been used before.
func (s *sshClient) attempt(ctx context.Context, c *auth.Credentials, q wire.Query) ([]wire.Ref, bool, error) {
	session, p, err := s.lanes.session(ctx, c)
	if err != nil {
		return nil, false, err
	}
	type answer struct {
		refs []wire.Ref
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		refs, err := converse(session, p.conn.client, command(c), q, s.options.Limits)
		answers <- answer{refs, err}
	}()
	select {
	case a := <-answers:
		_ = session.Close()
		s.lanes.release(p.conn, errors.Is(a.err, errDead))
		return a.refs, p.reused, a.err
	case <-ctx.Done():
		// Whoever hangs in this session is freed when the connection closes.
		_ = session.Close()
		s.lanes.release(p.conn, true)
		return nil, p.reused, ctx.Err()
	}
}

// command quotes the repository's path as git does.
func command(c *auth.Credentials) string {
	path := c.URL.Path
	if c.URL.RawQuery != "" {
		path += "?" + c.URL.RawQuery
	}
	return "git-upload-pack '" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
}

// environment is the payload of a request to set a variable (RFC 4254, 6.4).
type environment struct{ Name, Value string }

// counted counts the bytes of an answer.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// converse lists refs in an open session. Version 2 is asked for by a variable
// that servers may ignore; what they say first tells what they speak.
func converse(session *ssh.Session, conn ssh.Conn, command string, q wire.Query, limits wire.Limits) ([]wire.Ref, error) {
	stdin, err := session.StdinPipe()
	if err != nil {
		return nil, errDead
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		return nil, errDead
	}
	request := ssh.Marshal(environment{"GIT_PROTOCOL", "version=2"})
	if _, err := session.SendRequest("env", false, request); err != nil {
		return nil, errDead
	}
	if err := session.Start(command); err != nil {
		return nil, startError(err)
	}
	answer := &counted{Reader: stdout}
	reader := wire.NewReader(answer, limits)
	found, err := reader.Discover(q)
	if err != nil {
		if answer.n.Load() == 0 {
			return nil, silent(session, conn)
		}
		if fault.KindOf(err) == fault.Protocol && refused(session, stdout) {
			return nil, notFound()
		}
		return nil, err
	}
	if found.Version != 2 {
		return found.Refs, nil
	}
	if err := wire.WriteRequest(stdin, q); err != nil {
		return nil, errDead
	}
	refs, err := reader.Refs(q)
	if err == nil {
		_ = stdin.Close()
	}
	return refs, err
}

// startError tells a server that refuses the command from a lost connection.
func startError(err error) error {
	if errors.Is(err, io.EOF) {
		return errDead
	}
	return fault.New(fault.Protocol, "the server does not run git-upload-pack")
}

// silent says why a session ended without an answer. Servers that have no such
// repository, or hide it, tell by an exit status, or not at all; a lost
// connection looks like the latter.
func silent(session *ssh.Session, conn ssh.Conn) error {
	err := session.Wait()
	if err == nil {
		return fault.New(fault.Protocol, "the answer is empty")
	}
	var exit *ssh.ExitError
	if !errors.As(err, &exit) {
		if _, _, err := conn.SendRequest("keepalive@openssh.com", true, nil); err != nil {
			return errDead
		}
	}
	return notFound()
}

// refused tells whether a server that said something for people, instead of an
// answer, also ended the session with a failure.
func refused(session *ssh.Session, stdout io.Reader) bool {
	ended := make(chan error, 1)
	go func() {
		_, _ = io.CopyN(io.Discard, stdout, drained)
		ended <- session.Wait()
	}()
	timer := time.NewTimer(exitTime)
	defer timer.Stop()
	select {
	case err := <-ended:
		var exit *ssh.ExitError
		return errors.As(err, &exit)
	case <-timer.C:
		return false
	}
}

func notFound() error {
	return fault.New(fault.NotFound, "the server ended the session: no such repository, or no access to it")
}
