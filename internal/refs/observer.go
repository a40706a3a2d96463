// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// Options of an Observer.
type Options struct {
	// Lister does the listing, and brings the Clock and the metrics; required.
	Lister *Lister
	// Logger for what is nobody's status: slow sweeps and hosts that fail as
	// a whole.
	Logger logr.Logger
	// Jitter spreads intervals; nil leaves them as they are.
	Jitter func(time.Duration) time.Duration
}

// Target is one source that a Wavefront wants observed.
type Target struct {
	// Source names the GitRepository.
	Source fleet.ID
	// Repository is the object as it is now. It is not changed, and not kept.
	Repository *sourcev1.GitRepository
	// Rank orders a sweep: higher ranks (leaves) are listed before lower ones
	// (roots), which makes most listings for the freshness rule unnecessary.
	Rank int
	// Pin is what is pinned now (in Shadow, what would be), Previous what that
	// replaced by its record; empty where there is none. Both were values of the
	// ref, seen by an earlier process perhaps.
	Pin, Previous fleet.Revision
}

// Schedule is the poll policy of one Wavefront.
type Schedule struct {
	// Interval between two sweeps, before jitter. A source
	// that was listed less than half an interval before a sweep is listed an
	// interval after that instead.
	Interval time.Duration
	// Timeout of one listing.
	Timeout time.Duration
	// ReplicaLag is what a replicated git host may lag.
	ReplicaLag time.Duration
	// StaleAfter is the age at which an observation says nothing any more. A
	// failing source is tried at least every third of it. Zero is the larger of
	// 10m and three intervals.
	StaleAfter time.Duration
	// PerHostConcurrency is how many listings may run at once at one git host.
	// Wavefronts that share a host share its limit: the smallest of those in
	// Enforce, else of all.
	PerHostConcurrency int
	// Enforce tells that the Wavefront is in Enforce.
	Enforce bool
}

// Update tells what has news since the last Update: a new or changed
// observation, an error that came or went, a listing that was asked for by
// Refresh, or the end of a RefreshAll. Both lists are sorted.
type Update struct {
	Sources    []fleet.ID
	Wavefronts []string
}

// asker is what an Observer needs of a Lister.
type asker interface {
	ask(ctx context.Context, repo *sourcev1.GitRepository, q wire.Query, since uint64) (answer, error)
}

// Observer keeps the observations of all Wavefronts of the process fresh. All
// methods are safe for concurrent use and return without waiting for a listing.
type Observer struct {
	asker asker
	clock *Clock
	log   logr.Logger
	// jitter spreads intervals.
	jitter func(time.Duration) time.Duration
	// expire forgets Secrets that were read before a moment, forget the metrics
	// of a host.
	expire func(before uint64)
	forget func(host string)

	updates chan Update
	// kick wakes the loop before its time, herald the announcer. Both hold one.
	kick, herald chan struct{}
	jobs         sync.WaitGroup

	mu sync.RWMutex
	// running is the context of Start; nil before and after.
	running context.Context
	// next is when the loop wakes by itself; awake, while it does what is due.
	next      time.Duration
	awake     bool
	waves     map[string]*wave
	sources   map[fleet.ID]*source
	remotes   map[remoteKey]*remote
	hosts     map[string]*host
	endpoints map[endpointKey]*endpoint
	// busy holds the URLs that are being listed: one at a time each.
	busy map[string]bool
	news news
}

// NewObserver makes an Observer. It lists nothing before Start.
func NewObserver(o Options) *Observer {
	observer := newObserver(o.Lister, o.Lister.clock, o.Logger)
	if o.Jitter != nil {
		observer.jitter = o.Jitter
	}
	observer.expire = o.Lister.secrets.Expire
	observer.forget = o.Lister.metrics.forget
	return observer
}

func newObserver(a asker, c *Clock, log logr.Logger) *Observer {
	return &Observer{
		asker: a, clock: c, log: log, jitter: func(d time.Duration) time.Duration { return d },
		expire: func(uint64) {}, forget: func(string) {},
		updates: make(chan Update), kick: make(chan struct{}, 1), herald: make(chan struct{}, 1),
		waves: map[string]*wave{}, sources: map[fleet.ID]*source{}, remotes: map[remoteKey]*remote{},
		hosts: map[string]*host{}, endpoints: map[endpointKey]*endpoint{}, busy: map[string]bool{},
		news: newNews(),
	}
}

// NeedLeaderElection makes the manager start the Observer on the leader only.
func (o *Observer) NeedLeaderElection() bool { return true }

// Sync declares the sources that a Wavefront wants observed, and how. It is
// idempotent, cheap and linear. A source that is new, or whose URL, tracking
// ref, Secrets, provider, ServiceAccount or reconcile.fluxcd.io/requestedAt
// changed, is listed at once. One source may belong to several Wavefronts.
// Sources whose ref is not sequenced are never listed.
func (o *Observer) Sync(wavefront string, s Schedule, targets []Target) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Now()
	w := o.wave(wavefront, s, now)
	seen := make(map[fleet.ID]bool, len(targets))
	for _, t := range targets {
		if o.target(w, t, now) {
			seen[t.Source] = true
		}
	}
	for id := range w.members {
		if !seen[id] {
			o.leave(w, o.sources[id])
		}
	}
	o.limit()
	o.pump(now)
}

// Forget drops a Wavefront, and every source that no other Wavefront wants.
func (o *Observer) Forget(wavefront string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.waves[wavefront]
	if w == nil {
		return
	}
	for id := range w.members {
		o.leave(w, o.sources[id])
	}
	for _, s := range w.requested {
		close(s.done)
	}
	delete(o.waves, wavefront)
	o.limit()
	o.pump(o.clock.Now())
}

// Refresh wants a listing of the source that started at least ReplicaLag after
// the moment: call it when a pin changed, and for an ancestor that is not fresh
// enough. It is a no-op where such a listing is there, running or queued.
// Sources that fail, and hosts that asked to wait, keep their own pace.
func (o *Observer) Refresh(source fleet.ID, after fleet.Instant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.sources[source]
	if s == nil || after.IsZero() || after.Seq <= s.refresh.Seq || s.listed.After(after, o.lag(s)) {
		return
	}
	s.refresh = after
	now := o.clock.Now()
	o.consider(s, now)
	o.pump(now)
}

// Defer names the sources of a Wavefront that are not to be listed while their
// ancestors are refreshed; each call replaces the last. A source that was
// changed or is asked for by requestedAt is listed all the same, and so is one
// that has not been listed for half of StaleAfter.
func (o *Observer) Defer(wavefront string, sources []fleet.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.waves[wavefront]
	if w == nil {
		return
	}
	before := w.deferred
	w.deferred = make(map[fleet.ID]bool, len(sources))
	for _, id := range sources {
		w.deferred[id] = true
	}
	now := o.clock.Now()
	for id := range before {
		if s := o.sources[id]; s != nil && !w.deferred[id] {
			o.consider(s, now)
		}
	}
	o.pump(now)
}

// RefreshAll lists every source of a Wavefront at once. The channel is closed
// when each has been listed (or has failed, or its host asked to wait) after
// the call, or the Wavefront is forgotten.
func (o *Observer) RefreshAll(wavefront string) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Now()
	sweep := &sweep{at: now, pending: map[fleet.ID]bool{}, done: make(chan struct{})}
	w := o.waves[wavefront]
	if w == nil || len(w.members) == 0 {
		close(sweep.done)
		return sweep.done
	}
	for id := range w.members {
		sweep.pending[id] = true
	}
	w.requested = append(w.requested, sweep)
	for id := range w.members {
		o.trigger(o.sources[id], now)
	}
	o.pump(now)
	return sweep.done
}

// Observed returns the observation of a source that counts for its present URL
// and tracking ref (see Tracking), nil if there is none, and the error of the
// latest listing, nil if it succeeded or there was none. The error is always an
// *Error. The observation is immutable.
func (o *Observer) Observed(source fleet.ID, url, ref string) (*fleet.Observation, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	s := o.sources[source]
	if s == nil || s.remote.key.url != url || s.ref != ref {
		return nil, nil
	}
	observation := s.history.Latest(url, ref)
	if s.err == nil {
		return observation, nil
	}
	return observation, s.err
}

// Updates returns the channel on which news are announced, coalesced for as long
// as nobody receives. It has one receiver and is never closed.
func (o *Observer) Updates() <-chan Update { return o.updates }
