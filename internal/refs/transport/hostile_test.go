// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/refs/auth"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/transport"
)

const secretWord = "hunter2"

// repeat writes the same for as long as somebody reads.
func repeat(what string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, what); err != nil {
				return
			}
			if pause > 0 {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(pause):
				}
			}
		}
	}
}

func say(status int, header, value, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// drip never gets to the end of a line.
func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "fff0")
	repeat("x", 20*time.Millisecond)(w, r)
}

// silence answers nothing until the client goes.
func silence(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// cut sends part of an answer and breaks the connection.
func cut(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n003d1111")
	_ = conn.Close()
}

// reset breaks the connection with a reset.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	// Servers of git say who asked, and so may an error of theirs.
	echo := func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		line := "ERR " + user + ":" + password + "@" + r.URL.String()
		_, _ = fmt.Fprintf(w, "%04x%s", len(line)+4, line)
	}
	loop := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again/info/refs?service=git-upload-pack", http.StatusFound)
	}
	line := "003e1111111111111111111111111111111111111111 refs/heads/other\n"
	tests := []struct {
		name    string
		handler http.HandlerFunc
		kind    fault.Kind
		wait    time.Duration
	}{
		{name: "slow drip", handler: drip, kind: fault.Timeout},
		{name: "slow drip of lines", handler: repeat(line, 20*time.Millisecond), kind: fault.Timeout},
		{name: "no answer", handler: silence, kind: fault.Timeout},
		{name: "endless stream", handler: repeat(strings.Repeat(line, 1000), 0), kind: fault.TooLarge},
		{name: "huge lines", handler: repeat("fff0"+"1111111111111111111111111111111111111111 "+strings.Repeat("x", 65_475), 0), kind: fault.TooLarge},
		{name: "oversized line", handler: repeat("ffff"+strings.Repeat("x", 70_000), 0), kind: fault.Protocol},
		{name: "truncated", handler: cut, kind: fault.Protocol},
		{name: "no end", handler: say(200, "", "", line), kind: fault.Protocol},
		{name: "HTML with 200", handler: say(200, "Content-Type", "text/html; charset=utf-8", "<html>Sign in</html>"), kind: fault.Protocol},
		{name: "HTML in disguise", handler: say(200, "Content-Type", "application/x-git-upload-pack-result", "<html>"), kind: fault.Protocol},
		{name: "error line", handler: echo, kind: fault.Protocol},
		{name: "redirect loop", handler: loop, kind: fault.Protocol},
		{name: "redirect to a file", handler: say(302, "Location", "file:///etc/passwd/info/refs", ""), kind: fault.Protocol},
		{name: "redirect elsewhere", handler: say(302, "Location", "/login?token="+secretWord, ""), kind: fault.Protocol},
		{name: "redirect nowhere", handler: say(302, "", "", ""), kind: fault.Protocol},
		{name: "401", handler: say(401, "WWW-Authenticate", "Basic", ""), kind: fault.Unauthorized},
		{name: "403", handler: say(403, "", "", secretWord), kind: fault.Unauthorized},
		{name: "403 of a rate limit", handler: say(403, "Retry-After", "60", ""), kind: fault.Throttled, wait: time.Minute},
		{name: "404", handler: say(404, "", "", secretWord), kind: fault.NotFound},
		{name: "429", handler: say(429, "Retry-After", "120", ""), kind: fault.Throttled, wait: 2 * time.Minute},
		{name: "429 with a date", handler: say(429, "Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", ""), kind: fault.Throttled, wait: time.Minute},
		{name: "429 with nonsense", handler: say(429, "Retry-After", "soon", ""), kind: fault.Throttled},
		{name: "500", handler: say(500, "", "", ""), kind: fault.ServerFailed},
		{name: "503", handler: say(503, "Retry-After", "1", ""), kind: fault.Throttled, wait: time.Second},
		{name: "418", handler: say(418, "", "", ""), kind: fault.Protocol},
		{name: "reset", handler: reset, kind: fault.Unreachable},
		{name: "huge header", handler: say(200, "X-Filler", strings.Repeat("x", 1<<20), ""), kind: fault.Unreachable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, base := serve(t, tt.handler)
			client := transport.New(transport.Options{Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), map[bool]time.Duration{true: 500 * time.Millisecond, false: 20 * time.Second}[tt.kind == fault.Timeout])
			defer cancel()
			c := credentials(t, base+"/repo.git", auth.HTTP{Username: "user", Password: secretWord})
			refs, err := client.List(ctx, c, names("refs/heads/main"))
			g.Expect(refs).To(BeNil())
			g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
			g.Expect(err.Error()).NotTo(ContainSubstring(secretWord))
			var typed *fault.Error
			g.Expect(errors.As(err, &typed)).To(BeTrue())
			g.Expect(typed.RetryAfter).To(Equal(tt.wait))
		})
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	tests := []struct {
		name string
		url  string
		kind fault.Kind
	}{
		{"refused", "http://" + closed, fault.Unreachable},
		{"no such host", "http://nowhere.invalid/repo", fault.Unreachable},
		{"no TLS", "https://" + plain(t), fault.TLS},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			client := transport.New(transport.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := client.List(ctx, credentials(t, tt.url, auth.HTTP{}), names("refs/heads/main"))
			g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
		})
	}
}

func plain(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestCancelledListing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, base := serve(t, http.HandlerFunc(silence))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := transport.New(transport.Options{}).List(ctx, credentials(t, base, auth.HTTP{}), names("refs/heads/main"))
	g.Expect(fault.KindOf(err)).To(Equal(fault.Canceled))
}

// TestHostileMemory reads from endless servers and looks at the heap meanwhile.
// It is not parallel, because the heap is everybody's.
func TestHostileMemory(t *testing.T) {
	for _, stream := range []string{
		strings.Repeat("003e1111111111111111111111111111111111111111 refs/heads/other\n", 1000),
		"fff0" + "1111111111111111111111111111111111111111 " + strings.Repeat("x", 65_475),
	} {
		g := NewWithT(t)
		client := transport.New(transport.Options{})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		errs := make(chan error, 4)
		for range 4 {
			_, base := serve(t, repeat(stream, 0))
			go func() {
				_, err := client.List(t.Context(), credentials(t, base, auth.HTTP{}), names("refs/heads/main"))
				errs <- err
			}()
		}
		var peak uint64
		for left := 4; left > 0; {
			select {
			case err := <-errs:
				g.Expect(fault.KindOf(err)).To(Equal(fault.TooLarge))
				left--
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapAlloc)
			}
		}
		// Four endless answers of 32 MiB each, servers and garbage included.
		g.Expect(int64(peak) - int64(before.HeapAlloc)).To(BeNumerically("<", 24<<20))
		client.Close()
	}
}
