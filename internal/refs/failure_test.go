// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// starts returns when the requests since the last call started.
func (w *world) starts() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var at []time.Duration
	for _, r := range w.requests {
		at = append(at, r.at)
	}
	w.requests = nil
	return at
}

func TestFailingSourceBacksOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fail("https://h/a", fault.New(fault.Unauthorized, "the server answered 401"))
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.pass(20*time.Minute, time.Second)
	at := w.starts()
	var gaps []time.Duration
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, at[i]-at[i-1])
	}
	// The first failure costs nothing; then twice the interval, and no more than
	// a third of staleAfter.
	w.Expect(gaps[0]).To(BeNumerically("~", 90*time.Second, time.Second))
	w.Expect(gaps[1]).To(BeNumerically("~", 180*time.Second, time.Second))
	for _, gap := range gaps[2:] {
		w.Expect(gap).To(BeNumerically("~", 200*time.Second, time.Second))
	}
	_, kind := w.observed("a", "https://h/a")
	w.Expect(kind).To(Equal("Unauthorized"))

	// A Refresh keeps that pace, a trigger does not, and success ends it.
	w.pass(91*time.Second, time.Second)
	w.asked()
	w.Refresh(id("a"), w.Observer.clock.Now())
	w.pass(10*time.Second, time.Second)
	w.Expect(w.asked()).To(BeEmpty())
	w.fail("https://h/a", nil)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0, requestedAt("now"))})
	w.pass(5*time.Second, time.Second)
	w.Expect(w.asked()).To(HaveLen(1))
	commit, kind := w.observed("a", "https://h/a")
	w.Expect(commit).To(Equal(fleet.Revision(commitA)))
	w.Expect(kind).To(BeEmpty())
	w.pass(900*time.Second, time.Second)
	w.Expect(w.asked()).To(HaveLen(10))
}

func TestMissingRefIsTheSourcesOwnFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set("https://h/a", "")
	next := target("b", "https://h/a", 0)
	next.Repository.Spec.Reference.Branch = "next"
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0), next})
	w.run()
	_, kind := w.observed("a", "https://h/a")
	w.Expect(kind).To(Equal("RefMissing"))
	o, err := w.Observed(id("b"), "https://h/a", "refs/heads/next")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(o.Commit).To(Equal(fleet.Revision(commitA)))
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	throttled := &Error{Kind: fault.Throttled, RetryAfter: 7 * time.Minute}
	w.fail("https://h/a", throttled)
	targets := []Target{
		target("a", "https://h/a", 2, secret("one")), target("b", "https://h/b", 1, secret("one")),
		target("c", "https://h/c", 0, secret("two")),
	}
	w.Sync("fleet", schedule(), targets)
	w.run()
	// Whoever uses the same credentials there waits too, and says why; others go
	// on. All of them may come in any order at first.
	w.pass(95*time.Second, time.Second)
	w.asked()
	w.pass(5*time.Minute, time.Second)
	w.Expect(w.asked()).To(HaveEach("https://h/c"))
	_, kind := w.observed("b", "https://h/b")
	w.Expect(kind).To(Equal("Throttled"))

	// Not even a person hurries the host, and who waits for all gets an answer.
	done := w.RefreshAll("fleet")
	w.pass(5*time.Second, time.Second)
	w.Expect(done).To(BeClosed())
	w.Expect(w.asked()).To(HaveEach("https://h/c"))

	w.fail("https://h/a", nil)
	w.pass(30*time.Second, time.Second)
	w.Expect(w.asked()).To(ContainElements("https://h/a", "https://h/b"))
	_, kind = w.observed("b", "https://h/b")
	w.Expect(kind).To(BeEmpty())
}

// TestPausesEnd: a host remembers whom it wanted to wait for as long as that lasts,
// also where nobody uses the credentials any more.
func TestPausesEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fail("https://h/a", &Error{Kind: fault.Throttled, RetryAfter: time.Minute})
	keep := target("keep", "https://h/keep", 0)
	for i := range 20 {
		w.Sync("fleet", schedule(), []Target{keep, target("a", "https://h/a", 0, secret(fmt.Sprint("secret-", i)))})
		w.run()
		w.pass(90*time.Second, 30*time.Second)
	}
	for _, e := range w.endpoints {
		w.Expect(len(e.pauses)).To(BeNumerically("<=", 2))
	}
}

func TestHostThatFailsAsAWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refused := fault.New(fault.Unreachable, "the connection was refused")
	var targets []Target
	for i := range 40 {
		url := fmt.Sprintf("https://dead/%02d", i)
		w.fail(url, refused)
		targets = append(targets, target(fmt.Sprintf("dead%02d", i), url, i))
	}
	targets = append(targets, target("fine", "https://fine/a", 0))
	w.Sync("fleet", schedule(), targets)
	w.run()
	w.Expect(len(w.asked())).To(BeNumerically("<=", witnesses+1))
	w.Expect(*w.logged).To(HaveLen(1))
	for _, t := range targets[:40] {
		_, kind := w.observed(t.Source.Name, t.Repository.Spec.URL)
		w.Expect(kind).To(Equal("Unreachable"))
	}
	done := w.RefreshAll("fleet")
	w.pass(2*time.Second, 100*time.Millisecond)
	w.Expect(done).To(BeClosed(), "a person has the host probed at once")
	w.Expect(w.asked()).To(HaveLen(2))

	w.pass(15*time.Minute, time.Second)
	dead, fine := 0, 0
	for _, url := range w.asked() {
		if hostOf(url) == "dead" {
			dead++
		} else {
			fine++
		}
	}
	w.Expect(fine).To(BeNumerically(">=", 9))
	w.Expect(dead).To(BeNumerically("<=", 8), "one probe at a time, ever more seldom")

	// When a probe succeeds all are listed, leaves first.
	for _, t := range targets[:40] {
		w.fail(t.Repository.Spec.URL, nil)
	}
	w.pass(201*time.Second, time.Second)
	for _, t := range targets[:40] {
		commit, kind := w.observed(t.Source.Name, t.Repository.Spec.URL)
		w.Expect(kind).To(BeEmpty())
		w.Expect(commit).To(Equal(fleet.Revision(commitA)))
	}
}

func TestBrokenProxyIsNotTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var targets []Target
	for i := range 12 {
		url := fmt.Sprintf("https://h/%02d", i)
		tt := target(fmt.Sprintf("s%02d", i), url, 12-i)
		if i < 6 {
			w.fail(url, fault.New(fault.Unreachable, "the proxy: the connection was refused"))
			tt.Repository.Spec.ProxySecretRef = secretRef("proxy")
		}
		targets = append(targets, tt)
	}
	w.Sync("fleet", schedule(), targets)
	w.run()
	w.pass(90*time.Second, time.Second)
	for _, tt := range targets[6:] {
		commit, _ := w.observed(tt.Source.Name, tt.Repository.Spec.URL)
		w.Expect(commit).To(Equal(fleet.Revision(commitA)))
	}
}

// TestHangingRepositoriesAreNotTheHost has most of a host's repositories time out
// for ever, and looks at the cadence of the rest.
func TestHangingRepositoriesAreNotTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := schedule()
	s.PerHostConcurrency = 4
	var targets []Target
	for i := range 5 {
		url := fmt.Sprintf("https://h/%d", i)
		targets = append(targets, target(fmt.Sprintf("s%d", i), url, i))
		if i >= 2 {
			w.fail(url, fault.New(fault.Timeout, ""))
		}
	}
	// They time out after the others have answered, as it is on a real host.
	w.block = func(_ context.Context, url string) {
		if url < "https://h/2" {
			return
		}
		w.Eventually(func() bool {
			one, _ := w.observed("s0", "https://h/0")
			two, _ := w.observed("s1", "https://h/1")
			return one != "" && two != ""
		}).Should(BeTrue())
	}
	w.Sync("fleet", s, targets)
	w.jobs.Wait()
	w.block = nil
	w.asked()
	w.pass(30*time.Minute, time.Second)
	good := 0
	for _, url := range w.asked() {
		if url < "https://h/2" {
			good++
		}
	}
	w.Expect(good).To(BeNumerically(">=", 2*19))
	w.Expect(*w.logged).To(BeEmpty())
}

func TestFewBadRepositoriesAreNotTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var targets []Target
	for i := range 20 {
		url := fmt.Sprintf("https://h/%02d", i)
		targets = append(targets, target(fmt.Sprintf("s%02d", i), url, i))
		if i%5 == 0 {
			w.fail(url, fault.New(fault.Timeout, ""))
		}
	}
	w.Sync("fleet", schedule(), targets)
	w.run()
	w.asked()
	w.clock.Step(90 * time.Second)
	w.run()
	w.Expect(len(w.asked())).To(BeNumerically(">=", 16))
	w.Expect(*w.logged).To(BeEmpty())
}

// TestDeadHostDelaysNobody has one host hang in every request.
func TestDeadHostDelaysNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.block = func(ctx context.Context, url string) {
		if hostOf(url) == "hangs" {
			<-ctx.Done()
		}
	}
	ended := make(chan error, 1)
	w.Observer.running = nil
	go func() { ended <- w.Start(ctx) }()
	s := schedule()
	s.PerHostConcurrency = 2
	var targets []Target
	for i := range 10 {
		targets = append(targets, target(fmt.Sprintf("bad%d", i), fmt.Sprintf("https://hangs/%d", i), 9),
			target(fmt.Sprintf("good%d", i), fmt.Sprintf("https://good/%d", i), 0))
	}
	w.Sync("fleet", s, targets)
	good := func() int {
		n := 0
		for i := range 10 {
			if commit, _ := w.observed(fmt.Sprintf("good%d", i), fmt.Sprintf("https://good/%d", i)); commit != "" {
				n++
			}
		}
		return n
	}
	w.Eventually(good).Should(Equal(10))
	w.Eventually(w.clock.HasWaiters).Should(BeTrue())
	w.asked()
	w.clock.Step(90 * time.Second)
	w.Eventually(func() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.requests) }).Should(Equal(10))
	w.mu.Lock()
	w.Expect(w.peak["hangs"]).To(Equal(2))
	w.mu.Unlock()
	cancel()
	w.Eventually(ended).Should(Receive(BeNil()))
}

func TestHostLimit(t *testing.T) {
	t.Parallel()
	policy := func(limit int, enforce bool) Schedule {
		s := schedule()
		s.PerHostConcurrency, s.Enforce = limit, enforce
		return s
	}
	tests := []struct {
		name string
		one  Schedule
		two  Schedule
		want int
	}{
		{"both in Enforce", policy(5, true), policy(3, true), 3},
		{"both in Shadow", policy(5, false), policy(3, false), 3},
		{"Enforce before Shadow", policy(5, true), policy(3, false), 5},
		{"nonsense", policy(0, true), policy(-1, false), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			barrier := make(chan struct{})
			w.block = func(context.Context, string) { <-barrier }
			var one, two []Target
			for i := range 8 {
				one = append(one, target(fmt.Sprintf("a%d", i), fmt.Sprintf("https://h/a%d", i), 0))
				two = append(two, target(fmt.Sprintf("b%d", i), fmt.Sprintf("https://h/b%d", i), 0))
			}
			w.Observer.running = nil
			w.Sync("one", tt.one, one)
			w.Sync("two", tt.two, two)
			w.Observer.running = t.Context()
			w.wake()
			w.Eventually(func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.running["h"] }).Should(Equal(tt.want))
			close(barrier)
			w.jobs.Wait()
			w.Expect(w.peak["h"]).To(Equal(tt.want))
			w.Expect(w.asked()).To(HaveLen(16))
		})
	}
}

func TestNewURLForgetsTheOldFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fail("https://h/a", fault.New(fault.NotFound, ""))
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.pass(5*time.Minute, time.Second)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/b", 0)})
	w.jobs.Wait()
	commit, kind := w.observed("a", "https://h/b")
	w.Expect(commit).To(Equal(fleet.Revision(commitA)))
	w.Expect(kind).To(BeEmpty())
}
