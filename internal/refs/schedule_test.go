// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

func TestSweepListsLeavesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Sync("fleet", schedule(), []Target{
		target("root", "https://h/root", 0), target("middle", "https://h/middle", 1), target("leaf", "https://h/leaf", 2),
	})
	w.run()
	order := []string{"https://h/leaf", "https://h/middle", "https://h/root"}
	w.Expect(w.asked()).To(ConsistOf(order))
	for range 3 {
		w.pass(90*time.Second, time.Second)
		w.Expect(w.asked()).To(Equal(order))
	}
}

func TestIntervalIsJittered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.jitter = func(d time.Duration) time.Duration { return d * 9 / 10 }
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.asked()
	w.pass(80*time.Second, time.Second)
	w.Expect(w.asked()).To(BeEmpty())
	w.pass(time.Second, time.Second)
	w.Expect(w.asked()).To(HaveLen(1))
}

func TestSharedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var targets []Target
	for i := range 300 {
		targets = append(targets, target(fmt.Sprintf("s%03d", i), "https://h/mono", i%7, secret("token")))
	}
	other := target("other", "https://h/mono", 0, secret("token"), func(r *sourcev1.GitRepository) { r.Spec.Reference.Branch = "next" })
	w.Sync("fleet", schedule(), append(targets, other))
	w.run()
	w.asked()
	w.clock.Step(90 * time.Second)
	w.run()
	w.Expect(w.requests).To(HaveLen(1))
	w.Expect(w.requests[0].refs).To(Equal([]string{"refs/heads/main", "refs/heads/next"}))
	w.asked()
	w.pass(10*90*time.Second, time.Second)
	w.Expect(w.asked()).To(HaveLen(10))
	commit, _ := w.observed("s123", "https://h/mono")
	w.Expect(commit).To(Equal(fleet.Revision(commitA)))

	// Other credentials are another request, but never at the same time.
	w.Sync("fleet", schedule(), append(targets, other, target("x", "https://h/mono", 0, secret("other"))))
	w.run()
	w.Expect(w.asked()).To(Equal([]string{"https://h/mono"}))
	s := schedule()
	s.PerHostConcurrency = 4
	w.Sync("fleet", s, append(targets, other, target("x", "https://h/mono", 0, secret("other"))))
	w.pass(91*time.Second, time.Second)
	w.Expect(w.asked()).To(HaveLen(2))
	w.Expect(w.peak["h"]).To(Equal(1))
}

func TestTriggersCoalesce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.pass(10*time.Second, time.Second)
	w.Expect(w.asked()).To(HaveLen(1))
	for i := range 30 {
		w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0, requestedAt(fmt.Sprint(i)))})
		w.pass(33*time.Millisecond, 33*time.Millisecond)
	}
	w.pass(5*time.Second, 100*time.Millisecond)
	w.Expect(w.asked()).To(HaveLen(2), "one at once, one after the last")
	// The same Sync again is nothing new.
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0, requestedAt("29"))})
	w.pass(5*time.Second, time.Second)
	w.Expect(w.asked()).To(BeEmpty())
}

func TestChangesAreListedAtOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*sourcev1.GitRepository)
	}{
		{"URL", func(r *sourcev1.GitRepository) { r.Spec.URL = "https://h/other" }},
		{"ref", func(r *sourcev1.GitRepository) { r.Spec.Reference.Branch = "next" }},
		{"Secret", secret("s")},
		{"provider", func(r *sourcev1.GitRepository) { r.Spec.Provider = "azure" }},
		{"proxy", func(r *sourcev1.GitRepository) { r.Spec.ProxySecretRef = &fluxmeta.LocalObjectReference{Name: "p"} }},
		{"requestedAt", requestedAt("now")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
			w.run()
			w.clock.Step(10 * time.Second)
			w.asked()
			w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
			w.jobs.Wait()
			w.Expect(w.asked()).To(BeEmpty(), "nothing changed")
			w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0, tt.change)})
			w.jobs.Wait()
			w.Expect(w.asked()).To(HaveLen(1))
		})
	}
}

func TestPinIsNoChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.asked()
	w.clock.Step(10 * time.Second)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0, func(r *sourcev1.GitRepository) {
		r.Spec.Reference.Commit = commitA
	})})
	w.run()
	w.Expect(w.asked()).To(BeEmpty())
}

func TestLateAnswerIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	w.block = func(_ context.Context, url string) {
		if url == "https://h/old" {
			<-release
		}
	}
	w.set("https://h/old", commitB)
	s := schedule()
	s.PerHostConcurrency = 2
	w.Sync("fleet", s, []Target{target("a", "https://h/old", 0)})
	w.Eventually(func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.running["h"] }).Should(Equal(1))
	w.Sync("fleet", s, []Target{target("a", "https://h/new", 0)})
	close(release)
	w.jobs.Wait()
	commit, _ := w.observed("a", "https://h/new")
	w.Expect(commit).To(Equal(fleet.Revision(commitA)))
	old, _ := w.observed("a", "https://h/old")
	w.Expect(old).To(BeEmpty())
	other, err := w.Observed(id("a"), "https://h/new", "refs/heads/other")
	w.Expect(other).To(BeNil())
	w.Expect(err).NotTo(HaveOccurred())
}

// TestLateAnswerLeavesNoMetrics: a request that ends after its host was forgotten has
// counted something about it, which must go too.
func TestLateAnswerLeavesNoMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	w.block = func(context.Context, string) { <-release }
	var forgotten []int
	w.forget = func(host string) {
		w.Expect(host).To(Equal("h"))
		w.mu.Lock()
		defer w.mu.Unlock()
		forgotten = append(forgotten, w.running["h"])
	}
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.Eventually(func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.running["h"] }).Should(Equal(1))
	w.Forget("fleet")
	close(release)
	w.jobs.Wait()
	w.Expect(forgotten).To(Equal([]int{1, 0}))
	w.Expect(w.hosts).To(BeEmpty())
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.asked()
	w.pass(10*time.Second, time.Second)

	after := w.Observer.clock.Now()
	w.Refresh(id("a"), after)
	w.pass(1900*time.Millisecond, 100*time.Millisecond)
	w.Expect(w.asked()).To(BeEmpty(), "not before the replica lag")
	w.pass(200*time.Millisecond, 100*time.Millisecond)
	w.Expect(w.asked()).To(HaveLen(1))
	o, err := w.Observed(id("a"), "https://h/a", "refs/heads/main")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(o.Started.After(after, 2*time.Second)).To(BeTrue())

	// Enough is enough, however often it is asked for.
	for range 10 {
		w.Refresh(id("a"), after)
		w.pass(time.Second, time.Second)
	}
	w.Expect(w.asked()).To(BeEmpty())
	w.Refresh(id("unknown"), after)
	w.Refresh(id("a"), fleet.Instant{})
	w.run()
	w.Expect(w.asked()).To(BeEmpty())
}

func TestRefreshIsServedByRunningListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := schedule()
	s.ReplicaLag = 0
	w.Sync("fleet", s, []Target{target("a", "https://h/a", 0)})
	w.run()
	w.asked()
	w.clock.Step(89 * time.Second)
	after := w.Observer.clock.Now()
	release := make(chan struct{})
	w.block = func(context.Context, string) { <-release }
	w.clock.Step(time.Second)
	w.wake()
	w.Eventually(func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.running["h"] }).Should(Equal(1))
	w.Refresh(id("a"), after)
	w.clock.Step(5 * time.Second)
	w.wake()
	close(release)
	w.jobs.Wait()
	w.run()
	w.Expect(w.asked()).To(HaveLen(1))
}

func TestDefer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	targets := []Target{target("a", "https://h/a", 0), target("b", "https://h/b", 1)}
	w.Sync("fleet", schedule(), targets)
	w.run()
	w.asked()
	w.Defer("fleet", []fleet.ID{id("b")})
	w.pass(180*time.Second, time.Second)
	w.Expect(w.asked()).To(Equal([]string{"https://h/a", "https://h/a"}))

	// Who is asked for is listed all the same.
	targets[1] = target("b", "https://h/b", 1, requestedAt("now"))
	w.Sync("fleet", schedule(), targets)
	w.run()
	w.Expect(w.asked()).To(Equal([]string{"https://h/b"}))

	// Nobody is deferred until its observation is stale.
	w.pass(299*time.Second, time.Second)
	w.Expect(w.asked()).NotTo(ContainElement("https://h/b"))
	w.pass(2*time.Second, time.Second)
	w.Expect(w.asked()).To(ContainElement("https://h/b"))

	// Each call replaces the last, and what was due meanwhile is made up for.
	w.pass(95*time.Second, time.Second)
	w.Expect(w.asked()).NotTo(ContainElement("https://h/b"))
	w.Defer("fleet", nil)
	w.jobs.Wait()
	w.Expect(w.asked()).To(Equal([]string{"https://h/b"}))
}

func TestDeferWithdrawsFromTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 1), target("b", "https://h/b", 0)})
	w.run()
	w.asked()
	release := make(chan struct{})
	w.block = func(context.Context, string) { <-release }
	w.clock.Step(90 * time.Second)
	w.wake()
	w.Eventually(func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.running["h"] }).Should(Equal(1))
	w.Defer("fleet", []fleet.ID{id("b")})
	close(release)
	w.jobs.Wait()
	w.Expect(w.asked()).To(Equal([]string{"https://h/a"}))
}

func TestReplacedValueMustLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.set("https://h/a", commitB)
	w.pass(90*time.Second, time.Second)
	commit, _ := w.observed("a", "https://h/a")
	w.Expect(commit).To(Equal(fleet.Revision(commitB)))
	w.set("https://h/a", commitA)
	w.pass(90*time.Second, time.Second)
	commit, _ = w.observed("a", "https://h/a")
	w.Expect(commit).To(Equal(fleet.Revision(commitB)), "a lagging replica is no rollback")
	w.asked()
	// The evaluation may ask as often as it likes.
	for range 20 {
		w.Refresh(id("a"), w.Observer.clock.Now())
		w.pass(4*time.Second, time.Second)
	}
	w.Expect(len(w.asked())).To(BeNumerically("<=", 20))
	w.pass(11*time.Second, time.Second)
	commit, _ = w.observed("a", "https://h/a")
	w.Expect(commit).To(Equal(fleet.Revision(commitA)), "a reset is merely slower")
}

// TestPinMustBeOutlasted: a process that has just started does not take a lagging
// replica's word for a reset to what was pinned before.
func TestPinMustBeOutlasted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admitted := target("a", "https://h/a", 0)
	admitted.Pin, admitted.Previous = commitB, commitA
	w.Sync("fleet", schedule(), []Target{admitted})
	w.run()
	commit, kind := w.observed("a", "https://h/a")
	w.Expect(commit).To(BeEmpty(), "the replica lags")
	w.Expect(kind).To(BeEmpty())
	w.set("https://h/a", commitB)
	w.pass(95*time.Second, time.Second)
	commit, _ = w.observed("a", "https://h/a")
	w.Expect(commit).To(Equal(fleet.Revision(commitB)))

	// Somebody resets it.
	w.set("https://h/a", commitA)
	w.pass(200*time.Second, time.Second)
	commit, _ = w.observed("a", "https://h/a")
	w.Expect(commit).To(Equal(fleet.Revision(commitA)))
}

func TestMembership(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := target("a", "https://h/a", 0), target("b", "https://h/b", 0)
	w.Sync("one", schedule(), []Target{a, b})
	w.Sync("two", schedule(), []Target{b})
	w.run()
	w.asked()
	w.Sync("one", schedule(), []Target{a})
	w.pass(90*time.Second, time.Second)
	w.Expect(w.asked()).To(ConsistOf("https://h/a", "https://h/b"))
	w.Forget("two")
	w.Forget("unknown")
	w.pass(90*time.Second, time.Second)
	w.Expect(w.asked()).To(Equal([]string{"https://h/a"}))
	w.Forget("one")
	w.pass(90*time.Second, time.Second)
	w.Expect(w.asked()).To(BeEmpty())
	w.Expect(w.sources).To(BeEmpty())
	w.Expect(w.remotes).To(BeEmpty())
	w.Expect(w.hosts).To(BeEmpty())
	w.Expect(w.endpoints).To(BeEmpty())
}

func TestTwoWavefrontsListOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := target("a", "https://h/a", 0)
	w.Sync("one", schedule(), []Target{a})
	w.run()
	w.clock.Step(20 * time.Second)
	w.Sync("two", schedule(), []Target{a})
	w.run()
	w.asked()
	w.pass(900*time.Second, time.Second)
	w.Expect(w.asked()).To(HaveLen(10))
}

func TestUnsequencedIsNeverListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tag := target("a", "https://h/a", 0, func(r *sourcev1.GitRepository) { r.Spec.Reference.Tag = "v1" })
	w.Sync("fleet", schedule(), []Target{tag})
	w.pass(90*time.Second, time.Second)
	w.Expect(w.asked()).To(BeEmpty())
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.run()
	w.Expect(w.asked()).To(HaveLen(1))
	w.Sync("fleet", schedule(), []Target{tag})
	w.pass(90*time.Second, time.Second)
	w.Expect(w.asked()).To(BeEmpty())
}

func TestRefreshAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	targets := []Target{target("a", "https://h/a", 0), target("b", "https://h/b", 0), target("c", "https://h/c", 0)}
	w.fail("https://h/b", fault.New(fault.NotFound, ""))
	w.Sync("fleet", schedule(), targets)
	w.run()
	w.pass(10*time.Second, time.Second)
	w.asked()
	done := w.RefreshAll("fleet")
	w.Expect(done).NotTo(BeClosed())
	w.run()
	w.Expect(done).To(BeClosed())
	w.Expect(w.asked()).To(ConsistOf("https://h/a", "https://h/b", "https://h/c"))
	w.Expect(w.RefreshAll("unknown")).To(BeClosed())

	done = w.RefreshAll("fleet")
	w.Forget("fleet")
	w.Expect(done).To(BeClosed())
}

func TestSlowSweepIsWarnedAbout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := schedule()
	s.StaleAfter = 3 * time.Minute
	w.Sync("fleet", s, []Target{target("a", "https://h/a", 0), target("b", "https://h/b", 1)})
	w.run()
	w.Expect(*w.logged).To(BeEmpty())
	release := make(chan struct{})
	w.block = func(context.Context, string) { <-release }
	w.clock.Step(90 * time.Second)
	w.wake()
	w.clock.Step(61 * time.Second)
	w.wake()
	w.wake()
	close(release)
	w.jobs.Wait()
	w.Expect(*w.logged).To(HaveLen(1))
	w.Expect((*w.logged)[0]).To(ContainSubstring("a third of staleAfter"))
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error, 1)
	w.Observer.running = nil
	go func() { started <- w.Start(ctx) }()
	w.Sync("one", schedule(), []Target{target("a", "https://h/a", 0), target("b", "https://h/b", 0)})
	w.Sync("two", schedule(), []Target{target("b", "https://h/b", 0)})
	seen := map[fleet.ID]bool{}
	collect := func() []fleet.ID {
		select {
		case u := <-w.Updates():
			w.Expect(slices.IsSortedFunc(u.Sources, fleet.ID.Compare)).To(BeTrue())
			if slices.Contains(u.Sources, id("b")) {
				w.Expect(u.Wavefronts).To(ContainElements("one", "two"))
			}
			for _, s := range u.Sources {
				seen[s] = true
			}
		default:
		}
		var ids []fleet.ID
		for s := range seen {
			ids = append(ids, s)
		}
		return ids
	}
	w.Eventually(collect).Should(ConsistOf(id("a"), id("b")))

	// A sweep that brings nothing new is no news; the new value of a source is.
	clear(seen)
	w.set("https://h/b", commitB)
	w.asked()
	w.Eventually(w.clock.HasWaiters).Should(BeTrue())
	w.clock.Step(90 * time.Second)
	w.Eventually(collect).Should(ConsistOf(id("b")))
	w.Eventually(func() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.requests) }).Should(Equal(2))
	w.Eventually(func() int { w.Observer.mu.RLock(); defer w.Observer.mu.RUnlock(); return len(w.busy) }).Should(Equal(0))
	w.Expect(collect()).To(ConsistOf(id("b")))
	cancel()
	w.Eventually(started).Should(Receive(BeNil()))
}

func TestNoListingBeforeStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Observer.running = nil
	w.Sync("fleet", schedule(), []Target{target("a", "https://h/a", 0)})
	w.jobs.Wait()
	w.Expect(w.asked()).To(BeEmpty())
	w.Expect(w.NeedLeaderElection()).To(BeTrue())
}
