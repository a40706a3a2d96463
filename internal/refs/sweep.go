// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// wave is what the Observer knows of a Wavefront.
type wave struct {
	name     string
	schedule Schedule
	members  map[fleet.ID]bool
	deferred map[fleet.ID]bool
	// tick is when the next sweep is due.
	tick time.Duration
	// regular is the sweep of the latest tick until it is complete; nil then.
	regular *sweep
	// requested are the sweeps of RefreshAll that are not complete.
	requested []*sweep
}

// sweep waits for a listing of each of some sources that started after at.
type sweep struct {
	at      fleet.Instant
	pending map[fleet.ID]bool
	// warned: it has been said that the sweep takes too long.
	warned bool
	// done is closed when the sweep is complete; nil for regular ones.
	done chan struct{}
}

// shortestInterval keeps a schedule that nobody validated from spinning.
const shortestInterval = 100 * time.Millisecond

// complete fills in what a schedule must not lack.
func (s Schedule) complete() Schedule {
	s.PerHostConcurrency = max(1, s.PerHostConcurrency)
	s.Interval = max(shortestInterval, s.Interval)
	if s.StaleAfter <= 0 {
		s.StaleAfter = max(10*time.Minute, 3*s.Interval)
	}
	return s
}

// wave returns a Wavefront with its present schedule.
func (o *Observer) wave(name string, s Schedule, now fleet.Instant) *wave {
	s = s.complete()
	w := o.waves[name]
	if w == nil {
		w = &wave{name: name, members: map[fleet.ID]bool{}, tick: now.At + o.jitter(s.Interval)}
		o.waves[name] = w
	} else if s.Interval != w.schedule.Interval {
		w.tick = min(w.tick, now.At+o.jitter(s.Interval))
	}
	w.schedule = s
	o.wakeAt(w.tick)
	return w
}

// sweep starts the sweep of a tick. Sources that fail keep their own pace, and
// those that were listed a moment ago are due an interval after that.
func (o *Observer) sweep(w *wave, now fleet.Instant) {
	w.tick = now.At + o.jitter(w.schedule.Interval)
	o.expire(now.Seq)
	fresh := &sweep{at: now, pending: map[fleet.ID]bool{}}
	for id := range w.members {
		s := o.sources[id]
		if s.failures > 0 {
			continue
		}
		due := now.At
		if !s.started.IsZero() && due-s.started.At < w.schedule.Interval/2 {
			due = s.started.At + w.schedule.Interval
		}
		s.ask(due)
		o.consider(s, now)
		if !s.queued.IsZero() {
			fresh.pending[id] = true
		}
	}
	if w.regular == nil && len(fresh.pending) > 0 {
		w.regular = fresh
	}
}

// settle takes a source off the sweeps of a Wavefront that its listing, started
// at a moment, serves; or off all, because it will not be listed.
func (o *Observer) settle(w *wave, id fleet.ID, started fleet.Instant, all bool) {
	served := func(s *sweep) bool {
		if all || started.Seq > s.at.Seq {
			delete(s.pending, id)
		}
		return len(s.pending) == 0
	}
	if w.regular != nil && served(w.regular) {
		o.slow(w, w.regular)
		w.regular = nil
	}
	open := w.requested[:0]
	for _, s := range w.requested {
		if served(s) {
			close(s.done)
			o.news.wave(w.name)
		} else {
			open = append(open, s)
		}
	}
	clear(w.requested[len(open):])
	w.requested = open
}

// slow warns, once a sweep, of one that takes so long that observations may
// become stale.
func (o *Observer) slow(w *wave, s *sweep) {
	limit, took := w.schedule.StaleAfter/3, o.clock.Since()-s.at.At
	if s.warned || limit == 0 || took <= limit {
		return
	}
	s.warned = true
	o.log.Info("listing all sources takes longer than a third of staleAfter: raise the interval or perHostConcurrency",
		"wavefront", w.name, "took", took.String(), "staleAfter", w.schedule.StaleAfter.String(), "unlisted", len(s.pending))
}

// limit sets each host's limit: the smallest of the Wavefronts in Enforce that
// have sources there, else of all.
func (o *Observer) limit() {
	type limits struct{ enforced, all int }
	found := map[*host]limits{}
	for _, s := range o.sources {
		for name := range s.ranks {
			policy := o.waves[name].schedule
			l := found[s.remote.host]
			if l.all == 0 || policy.PerHostConcurrency < l.all {
				l.all = policy.PerHostConcurrency
			}
			if policy.Enforce && (l.enforced == 0 || policy.PerHostConcurrency < l.enforced) {
				l.enforced = policy.PerHostConcurrency
			}
			found[s.remote.host] = l
		}
	}
	for h, l := range found {
		h.limit = l.all
		if l.enforced > 0 {
			h.limit = l.enforced
		}
	}
}
