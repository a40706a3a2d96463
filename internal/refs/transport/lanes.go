// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// maxSessions of one connection: below the ten that OpenSSH allows.
const maxSessions = 8

// lanes keeps SSH connections, by host and identity.
type lanes struct {
	options Options

	mu    sync.Mutex
	lanes map[string]*lane
}

// lane holds the connections of one host and identity: one, unless it has all
// the sessions that it may have.
type lane struct {
	conns []*sshConn
	// dialing is the connection being made; nil if none is.
	dialing *dialing
}

// dialing is one attempt to connect, for all who wait for it. err is set before
// done is closed.
type dialing struct {
	done chan struct{}
	err  error
}

// sshConn is one connection. Its fields are guarded by the lanes' mutex.
type sshConn struct {
	client *ssh.Client
	lane   string
	// active sessions, of at most limit.
	active, limit int
	// served counts the places that were given.
	served int
	// proven: it has had a session that the server allowed.
	proven bool
	// closing: gets no more sessions, and is closed after the last.
	closing bool
	// idleSince is when the last session ended.
	idleSince time.Time
}

// place is room for one session on a connection; reused tells that it is not the
// connection's first.
type place struct {
	conn   *sshConn
	reused bool
}

func newLanes(o Options) *lanes { return &lanes{options: o, lanes: map[string]*lane{}} }

// session opens a session on a connection that has room, or on a new one.
// release must be called after it.
func (l *lanes) session(ctx context.Context, c *auth.Credentials) (*ssh.Session, place, error) {
	for {
		p, err := l.acquire(ctx, c)
		if err != nil {
			return nil, place{}, err
		}
		session, err := open(ctx, p.conn.client)
		if err == nil {
			l.opened(p.conn)
			return session, p, nil
		}
		var refused *ssh.OpenChannelError
		full := errors.As(err, &refused)
		useless := false
		if full {
			useless = l.shrink(p.conn)
		} else {
			l.release(p.conn, true)
		}
		switch {
		case ctx.Err() != nil:
			return nil, place{}, ctx.Err()
		case useless:
			return nil, place{}, fault.New(fault.Protocol, "the server refuses sessions")
		case !p.reused && !full:
			return nil, place{}, fault.New(fault.Unreachable, "the connection was lost")
		}
		// A kept connection is full or has died: try the next, or a new one.
	}
}

// open opens a session, unless ctx ends first.
func open(ctx context.Context, client *ssh.Client) (*ssh.Session, error) {
	type opened struct {
		session *ssh.Session
		err     error
	}
	result := make(chan opened, 1)
	go func() {
		session, err := client.NewSession()
		result <- opened{session, err}
	}()
	select {
	case o := <-result:
		return o.session, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// acquire takes a place on a connection, making one where there is no place.
func (l *lanes) acquire(ctx context.Context, c *auth.Credentials) (place, error) {
	for {
		p, attempt, first := l.find(c.Pool)
		if p.conn != nil {
			return p, nil
		}
		if first {
			client, err := dialSSH(ctx, l.options, c)
			l.dialed(c.Pool, attempt, client, err)
		}
		select {
		case <-attempt.done:
		case <-ctx.Done():
			return place{}, ctx.Err()
		}
		// Who gave up while dialing says nothing about the host.
		if attempt.err != nil && (first || fault.KindOf(attempt.err) != "") {
			return place{}, attempt.err
		}
	}
}

// find returns a place, or the attempt to make a connection; first says that the
// caller has to make it.
func (l *lanes) find(key string) (place, *dialing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropIdle()
	ln := l.lanes[key]
	if ln == nil {
		ln = &lane{}
		l.lanes[key] = ln
	}
	for _, conn := range ln.conns {
		if !conn.closing && conn.active < conn.limit {
			conn.active++
			conn.served++
			return place{conn, conn.served > 1}, nil, false
		}
	}
	if ln.dialing != nil {
		return place{}, ln.dialing, false
	}
	ln.dialing = &dialing{done: make(chan struct{})}
	return place{}, ln.dialing, true
}

// dialed publishes the outcome of an attempt.
func (l *lanes) dialed(key string, attempt *dialing, client *ssh.Client, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	ln.dialing = nil
	attempt.err = err
	close(attempt.done)
	if err != nil {
		l.tidy(key)
		return
	}
	conn := &sshConn{client: client, lane: key, limit: maxSessions, idleSince: l.options.Now()}
	ln.conns = append(ln.conns, conn)
	go func() {
		_ = client.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.drop(conn)
	}()
}

// release gives a place back. A broken connection gets no more sessions.
func (l *lanes) release(conn *sshConn, broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.active--
	conn.idleSince = l.options.Now()
	conn.closing = conn.closing || broken
	if conn.closing && conn.active <= 0 {
		l.drop(conn)
	}
}

// opened notes that the server allowed a session.
func (l *lanes) opened(conn *sshConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.proven = true
}

// shrink learns that the server allows no more sessions than are active, and
// gives the place back. A connection that may not have one is closed; shrink
// tells whether it never could.
func (l *lanes) shrink(conn *sshConn) (useless bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.active--
	conn.limit = min(conn.limit, conn.active)
	if conn.active > 0 {
		return false
	}
	l.drop(conn)
	return !conn.proven
}

// drop closes a connection and forgets it.
func (l *lanes) drop(conn *sshConn) {
	conn.closing = true
	_ = conn.client.Close()
	ln := l.lanes[conn.lane]
	if ln == nil {
		return
	}
	for i, c := range ln.conns {
		if c == conn {
			ln.conns = append(ln.conns[:i:i], ln.conns[i+1:]...)
			break
		}
	}
	l.tidy(conn.lane)
}

// tidy forgets a lane that holds nothing.
func (l *lanes) tidy(key string) {
	if ln := l.lanes[key]; ln != nil && len(ln.conns) == 0 && ln.dialing == nil {
		delete(l.lanes, key)
	}
}

// dropIdle closes connections that have not been used for long.
func (l *lanes) dropIdle() {
	now := l.options.Now()
	for _, ln := range l.lanes {
		for _, conn := range ln.conns {
			if conn.active == 0 && now.Sub(conn.idleSince) > idle {
				l.drop(conn)
			}
		}
	}
}

func (l *lanes) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.lanes {
		for _, conn := range ln.conns {
			conn.closing = true
			if conn.active == 0 {
				l.drop(conn)
			}
		}
	}
}
