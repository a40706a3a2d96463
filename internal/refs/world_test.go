// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"sync"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// world is an Observer in front of git hosts that a test makes up, under a clock
// that the test turns.
type world struct {
	t *testing.T
	*WithT
	*Observer
	clock *testingclock.FakeClock
	// logged are the messages of the Observer's log.
	logged *[]string

	mu       sync.Mutex
	requests []request
	// running and peak count concurrent requests by host.
	running, peak map[string]int
	// commits by URL and ref, and errors by URL.
	commits map[string]string
	errs    map[string]*Error
	// block is called within each request, if set.
	block func(ctx context.Context, url string)
}

// request is one that was made.
type request struct {
	url   string
	refs  []string
	at    time.Duration
	since uint64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	fake := testingclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	w := &world{
		t: t, WithT: NewWithT(t), clock: fake, logged: &[]string{},
		running: map[string]int{}, peak: map[string]int{}, commits: map[string]string{}, errs: map[string]*Error{},
	}
	log := funcr.New(func(_, args string) { *w.logged = append(*w.logged, args) }, funcr.Options{})
	w.Observer = newObserver(w, NewClock(fake), log)
	w.Observer.running = t.Context()
	return w
}

// ask answers as the made-up host does.
func (w *world) ask(ctx context.Context, repo *sourcev1.GitRepository, q wire.Query, since uint64) (answer, error) {
	a := answer{started: w.Observer.clock.Now()}
	url, host := repo.Spec.URL, hostOf(repo.Spec.URL)
	w.mu.Lock()
	w.requests = append(w.requests, request{url, q.Names, a.started.At, since})
	w.running[host]++
	w.peak[host] = max(w.peak[host], w.running[host])
	block := w.block
	w.mu.Unlock()
	if block != nil {
		block(ctx, url)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[host]--
	a.completed, a.at = w.Observer.clock.Now(), w.clock.Now()
	if err := w.errs[url]; err != nil {
		return a, err
	}
	for _, name := range q.Names {
		commit, found := w.commits[url+" "+name]
		if !found {
			commit = commitA
		}
		if commit != "" {
			a.refs = append(a.refs, wire.Ref{Name: name, Hash: commit})
		}
	}
	return a, nil
}

// run does all that is due, and waits for it.
func (w *world) run() {
	w.wake()
	w.jobs.Wait()
}

// pass turns the clock on in steps, doing what is due after each.
func (w *world) pass(total, step time.Duration) {
	for passed := time.Duration(0); passed < total; passed += step {
		w.clock.Step(step)
		w.run()
	}
}

// asked returns the URLs asked for since the last call.
func (w *world) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var urls []string
	for _, r := range w.requests {
		urls = append(urls, r.url)
	}
	w.requests = nil
	return urls
}

func (w *world) set(url, commit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commits[url+" refs/heads/main"] = commit
}

func (w *world) fail(url string, err *Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs[url] = err
}

func schedule() Schedule {
	return Schedule{
		Interval: 90 * time.Second, Timeout: time.Minute, ReplicaLag: 2 * time.Second,
		StaleAfter: 10 * time.Minute, PerHostConcurrency: 1,
	}
}

func id(name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: "flotillas", Name: name}
}

// target makes a source on branch main.
func target(name, url string, rank int, change ...func(*sourcev1.GitRepository)) Target {
	repo := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "flotillas", Annotations: map[string]string{}},
		Spec:       sourcev1.GitRepositorySpec{URL: url, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}},
	}
	for _, c := range change {
		c(repo)
	}
	return Target{Source: id(name), Repository: repo, Rank: rank}
}

func requestedAt(value string) func(*sourcev1.GitRepository) {
	return func(r *sourcev1.GitRepository) { r.Annotations[fluxmeta.ReconcileRequestAnnotation] = value }
}

func secret(name string) func(*sourcev1.GitRepository) {
	return func(r *sourcev1.GitRepository) { r.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: name} }
}

func secretRef(name string) *fluxmeta.LocalObjectReference {
	return &fluxmeta.LocalObjectReference{Name: name}
}

func (w *world) observed(name, url string) (fleet.Revision, string) {
	o, err := w.Observed(id(name), url, "refs/heads/main")
	var commit fleet.Revision
	if o != nil {
		commit = o.Commit
	}
	return commit, string(fault.KindOf(err))
}
