// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/wire"
)

// longestSleep bounds the time between two looks at the schedule.
const longestSleep = time.Hour

// Start observes until ctx is done, then waits for the running listings, which
// are canceled. It is a controller-runtime Runnable.
func (o *Observer) Start(ctx context.Context) error {
	o.mu.Lock()
	o.running = ctx
	o.mu.Unlock()
	o.jobs.Go(func() { o.announce(ctx) })
	for ctx.Err() == nil {
		o.sleep(ctx, o.wake())
	}
	o.mu.Lock()
	o.running = nil
	o.mu.Unlock()
	o.jobs.Wait()
	return nil
}

// sleep waits for a moment, or to be woken before it.
func (o *Observer) sleep(ctx context.Context, until time.Duration) {
	timer := o.clock.NewTimer(until - o.clock.Since())
	defer timer.Stop()
	if o.clock.Since() >= until {
		return
	}
	select {
	case <-ctx.Done():
	case <-o.kick:
	case <-timer.C():
	}
}

// wakeAt wakes the loop no later than at.
func (o *Observer) wakeAt(at time.Duration) {
	if at >= o.next {
		return
	}
	o.next = at
	if o.awake {
		return
	}
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// wake does all that is due, and returns until when there is nothing more to do.
func (o *Observer) wake() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.awake = true
	defer func() { o.awake = false }()
	now := o.clock.Now()
	o.next = now.At + longestSleep
	for _, w := range o.waves {
		if w.tick <= now.At {
			o.sweep(w, now)
		}
		if w.regular != nil {
			o.slow(w, w.regular)
		}
		o.next = min(o.next, w.tick)
	}
	for _, s := range o.sources {
		o.consider(s, now)
	}
	for _, h := range o.hosts {
		h.unpark()
	}
	o.pump(now)
	return o.next
}

// pump starts what may start.
func (o *Observer) pump(now fleet.Instant) {
	defer o.heralded()
	if o.running == nil || o.running.Err() != nil {
		return
	}
	for _, h := range o.hosts {
		for h.running < h.limit {
			r := o.pick(h, now)
			if r == nil {
				break
			}
			o.list(r)
		}
	}
}

// pick returns the remote of a host whose turn it is; nil if there is none that
// can be listed now.
func (o *Observer) pick(h *host, now fleet.Instant) *remote {
	var probe *remote
	for h.queue.Len() > 0 {
		r := heap.Pop(&h.queue).(*remote)
		o.withdrawDeferred(r, now)
		if len(r.waiting) == 0 {
			continue
		}
		free := !o.busy[r.key.url] && o.open(r, now)
		switch e := r.endpoint; {
		case free && !e.down:
			return r
		case free && !e.probing && (probe == nil || r.started.Seq < probe.started.Seq):
			// The next probe is one that was not tried for longest: if the
			// trouble is not the host's, somebody finds out.
			probe = r
		}
		r.parked = true
		h.parked = append(h.parked, r)
	}
	if probe != nil {
		h.remove(probe)
		probe.endpoint.probing = true
	}
	return probe
}

// withdrawDeferred takes sources out of a request that were deferred since they
// were queued.
func (o *Observer) withdrawDeferred(r *remote, now fleet.Instant) {
	for _, s := range r.waiting {
		if at, _ := o.ready(s, now); at > now.At {
			r.unqueue(s)
			o.wakeAt(at)
		}
	}
}

// job is one request on its way.
type job struct {
	remote *remote
	// sources of the request, with the version that they had.
	sources map[*source]uint64
	query   wire.Query
	since   uint64
	timeout time.Duration
	started fleet.Instant
	// probe: its host is down.
	probe bool
}

// list starts a request for all that waits for a remote.
func (o *Observer) list(r *remote) {
	j := &job{remote: r, sources: map[*source]uint64{}, probe: r.endpoint.down}
	var first *source
	for _, s := range r.waiting {
		j.sources[s] = s.version
		if !slices.Contains(j.query.Names, s.ref) {
			j.query.Names = append(j.query.Names, s.ref)
		}
		j.since = max(j.since, s.queued.Seq)
		j.timeout = max(j.timeout, o.schedule(s).Timeout)
		if first == nil || s.id.Compare(first.id) < 0 {
			first = s
		}
		r.unqueue(s)
		s.asked, s.forced = false, false
		s.started = o.clock.Now()
	}
	slices.Sort(j.query.Names)
	if j.timeout <= 0 {
		j.timeout = defaultTimeout
	}
	r.started = o.clock.Now()
	j.started = r.started
	r.host.running++
	o.busy[r.key.url] = true
	running, repository := o.running, first.repository
	o.jobs.Go(func() {
		ctx, cancel := context.WithTimeout(running, j.timeout)
		defer cancel()
		a, err := o.asker.ask(ctx, repository, j.query, j.since)
		o.finish(j, a, typed(err))
	})
}

// finish takes in the answer to a request.
func (o *Observer) finish(j *job, a answer, err *Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Now()
	r := j.remote
	delete(o.busy, r.key.url)
	if r.host.running--; r.host.remotes == 0 && r.host.running == 0 {
		delete(o.hosts, r.host.name)
		// The request was counted after nobody wanted the host any more.
		o.forget(r.host.name)
	}
	r.endpoint.probing = r.endpoint.probing && !j.probe
	if err != nil && err.Kind == fault.Canceled {
		return
	}
	o.heard(j, err, now)
	for s, version := range j.sources {
		if s.version == version {
			o.answered(s, a, err, now)
		}
	}
	r.host.unpark()
	o.pump(now)
}

// answered takes in the answer about one source.
func (o *Observer) answered(s *source, a answer, err *Error, now fleet.Instant) {
	s.started = a.started
	var listing fleet.Listing
	if err == nil {
		var missing error
		listing, missing = a.listing(s.remote.key.url, s.ref)
		err = typed(missing)
	}
	if err != nil {
		o.unanswered(s, err, now)
	} else {
		o.accept(s, listing, now)
	}
	for name := range s.ranks {
		o.settle(o.waves[name], s.id, a.started, false)
	}
	o.consider(s, now)
}

// unanswered notes a failure and when to try again.
func (o *Observer) unanswered(s *source, err *Error, now fleet.Instant) {
	if s.err == nil || s.err.Kind != err.Kind {
		o.news.source(s.id)
	}
	s.err = err
	s.failures++
	s.retry = now.At + max(o.backoff(o.schedule(s), s.failures), min(err.RetryAfter, longestPause))
	s.ask(s.retry)
}

// accept takes in a listing.
func (o *Observer) accept(s *source, l fleet.Listing, now fleet.Instant) {
	before, policy := s.history.Latest(l.URL, l.Ref), o.schedule(s)
	long := !s.listed.IsZero() && l.Started.At-s.listed.At > 2*policy.Interval
	if s.err != nil || long {
		o.news.source(s.id)
	}
	s.err, s.failures, s.listed = nil, 0, l.Started
	if l.Started.After(s.refresh, policy.ReplicaLag) {
		s.refresh = fleet.Instant{}
		o.news.source(s.id)
	}
	switch {
	case !s.history.Accept(l, o.longest(s)):
		if s.doubted.IsZero() {
			s.doubted = l.Started
		}
		s.ask(max(now.At+triggerGap, s.doubted.At+o.longest(s)))
		return
	case before == nil || before.First != s.history.Latest(l.URL, l.Ref).First:
		o.news.source(s.id)
	}
	s.doubted = fleet.Instant{}
}
