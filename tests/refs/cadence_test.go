// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

const commit = "1111111111111111111111111111111111111111"

// answer is what a server of version 2 says about refs/heads/main.
const answer = "003d" + commit + " refs/heads/main\n0000"

// drip answers a byte at a time and never ends.
func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "fff0")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, "x"); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// flood answers without end.
func flood(w http.ResponseWriter, r *http.Request) {
	line := strings.Repeat("003e"+commit+" refs/heads/other\n", 1000)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func status(code int, header, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(header, value)
		w.WriteHeader(code)
	}
}

// hostile are servers that do their worst, and what is said of each.
var hostile = map[string]struct {
	handler http.HandlerFunc
	kind    fault.Kind
}{
	"drip":     {drip, fault.Timeout},
	"flood":    {flood, fault.TooLarge},
	"hang":     {hang, fault.Timeout},
	"page":     {status(200, "Content-Type", "text/html"), fault.Protocol},
	"denied":   {status(401, "WWW-Authenticate", "Basic"), fault.Unauthorized},
	"missing":  {status(404, "", ""), fault.NotFound},
	"throttle": {status(429, "Retry-After", "3600"), fault.Throttled},
	"broken":   {status(500, "", ""), fault.ServerFailed},
	"redirect": {func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again/info/refs", http.StatusFound)
	}, fault.Protocol},
}

// TestHostileServersHarmNobodysCadence polls good sources beside hostile ones, some
// of them on the very same host, and measures the time between two listings of
// each good one.
func TestHostileServersHarmNobodysCadence(t *testing.T) {
	g := NewWithT(t)
	var mu sync.Mutex
	listed := map[string][]time.Time{}
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Split(r.URL.Path, "/")[1]
		if bad, found := hostile[name]; found {
			bad.handler(w, r)
			return
		}
		mu.Lock()
		listed[name] = append(listed[name], time.Now())
		mu.Unlock()
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(good.Close)

	var targets []refs.Target
	add := func(name, url string) {
		targets = append(targets, refs.Target{
			Source:     fleet.ID{Kind: fleet.KindGitRepository, Namespace: "team", Name: name},
			Repository: source(name, url, ""), Rank: len(targets) % 5,
		})
	}
	for i := range 30 {
		add(fmt.Sprintf("good%02d", i), fmt.Sprintf("%s/good%02d", good.URL, i))
	}
	for name, bad := range hostile {
		server := httptest.NewServer(bad.handler)
		t.Cleanup(server.Close)
		for i := range 5 {
			add(fmt.Sprintf("%s%d", name, i), fmt.Sprintf("%s/%d", server.URL, i))
		}
		if name != "throttle" && name != "redirect" {
			add(name, good.URL+"/"+name)
		}
	}
	observer := refs.NewObserver(refs.Options{Lister: lister(t), Logger: logr.Discard()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- observer.Start(ctx) }()
	const interval = 2 * time.Second
	observer.Sync("fleet", refs.Schedule{
		Interval: interval, Timeout: time.Second, StaleAfter: 30 * time.Second, PerHostConcurrency: 4,
	}, targets)
	counted := func() int {
		mu.Lock()
		defer mu.Unlock()
		least := -1
		for i := range 30 {
			if n := len(listed[fmt.Sprintf("good%02d", i)]); least < 0 || n < least {
				least = n
			}
		}
		return least
	}
	g.Eventually(counted, "60s", "50ms").Should(BeNumerically(">=", 5))
	var longest time.Duration
	mu.Lock()
	for _, times := range listed {
		for i := 1; i < len(times); i++ {
			longest = max(longest, times[i].Sub(times[i-1]))
		}
	}
	mu.Unlock()
	t.Logf("interval %s, longest time between two listings of a good source %s", interval, longest)
	// Jitter, and four slots that hostile repositories of the same host may fill
	// for a timeout.
	g.Expect(longest).To(BeNumerically("<", interval*11/10+3*time.Second))

	for _, target := range targets {
		name := strings.TrimRight(target.Source.Name, "0123456789")
		found, err := observer.Observed(target.Source, target.Repository.Spec.URL, "refs/heads/main")
		if name == "good" {
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Commit).To(Equal(fleet.Revision(commit)))
			continue
		}
		want := []fault.Kind{hostile[name].kind}
		if name == "flood" {
			// A busy machine may not read that much in time.
			want = append(want, fault.Timeout)
		}
		g.Expect(want).To(ContainElement(fault.KindOf(err)), "%s: %v", target.Source, err)
	}
	cancel()
	g.Eventually(ended, "10s").Should(Receive(BeNil()))
}
