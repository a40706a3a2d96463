// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"container/heap"
	"maps"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	// witnesses is how many repositories of a host must fail, with none
	// answering in between, before the host counts as failing as a whole.
	witnesses = 3
	// longestPause is the longest that a server is obeyed when it asks to wait.
	longestPause = time.Hour
)

// host is a git host: what the limit of concurrent listings is for.
type host struct {
	name    string
	limit   int
	running int
	remotes int
	queue   queue
	// parked are remotes whose turn it was, but something was in the way.
	parked []*remote
}

// unpark gives those a new turn whose turn it was.
func (h *host) unpark() {
	for _, r := range h.parked {
		r.parked = false
		if len(r.waiting) > 0 {
			heap.Push(&h.queue, r)
		}
	}
	h.parked = nil
}

// remove takes a remote out of the queue.
func (h *host) remove(r *remote) {
	if r.index >= 0 {
		heap.Remove(&h.queue, r.index)
	}
	for i, p := range h.parked {
		if p == r {
			h.parked = append(h.parked[:i:i], h.parked[i+1:]...)
			r.parked = false
			return
		}
	}
}

// endpointKey names a way to a host: a proxy that is down is not the host.
type endpointKey struct{ host, namespace, proxy string }

// endpoint is the health of one way to a host.
type endpoint struct {
	key     endpointKey
	remotes map[*remote]bool
	// failed are the witnesses: remotes that failed as a host does, though they
	// had been reached before, since the host was last heard of.
	failed map[*remote]bool
	// contact is when the host was last heard of.
	contact fleet.Instant
	// down: nothing is listed but a probe now and then.
	down bool
	// failures counts failed probes in a row, probe is when the next may be, and
	// probing tells that one is under way.
	failures int
	probe    time.Duration
	probing  bool
	// pauses are what the server asked of the users of one credential.
	pauses map[credentialKey]pause
}

// pause is a server's wish to be left alone.
type pause struct {
	until time.Duration
	err   *Error
}

func newEndpoint(key endpointKey) *endpoint {
	return &endpoint{
		key: key, remotes: map[*remote]bool{}, failed: map[*remote]bool{},
		pauses: map[credentialKey]pause{},
	}
}

// hurry has a host that is down probed by at, because somebody asks for it.
func (e *endpoint) hurry(at time.Duration) { e.probe = min(e.probe, at) }

// open tells whether a remote may be listed as far as its endpoint goes, and
// sets the alarm for when it may.
func (o *Observer) open(r *remote, now fleet.Instant) bool {
	e := r.endpoint
	if p, found := e.pauses[r.key.credentialKey]; found {
		if p.until > now.At {
			o.refuse(r, p.err, now)
			o.wakeAt(p.until)
			return false
		}
		delete(e.pauses, r.key.credentialKey)
	}
	if e.down && e.probe > now.At {
		o.wakeAt(e.probe)
		return false
	}
	return true
}

// heard takes in what a request told about the way to the host.
func (o *Observer) heard(j *job, err *Error, now fleet.Instant) {
	r, e := j.remote, j.remote.endpoint
	switch {
	case !e.remotes[r]:
		return
	case err == nil:
	case err.OfHost():
		o.failed(j, err, now)
		return
	case !err.Answered():
		return
	case err.RetryAfter > 0:
		maps.DeleteFunc(e.pauses, func(_ credentialKey, p pause) bool { return p.until <= now.At })
		e.pauses[r.key.credentialKey] = pause{now.At + min(err.RetryAfter, longestPause), err}
	}
	if e.down {
		o.recovered(e, now)
	}
	clear(e.failed)
	e.contact, r.lost = now, false
}

// failed notes that a remote failed as a host does. It is no witness against its
// host if the host was heard of since the request started, or if it failed
// before: a few repositories that hang for ever must not cost the others.
func (o *Observer) failed(j *job, err *Error, now fleet.Instant) {
	r, e := j.remote, j.remote.endpoint
	if !r.lost && e.contact.Seq < j.started.Seq {
		e.failed[r] = true
	}
	r.lost = true
	switch {
	case e.down && !j.probe:
		return
	case !e.down && (len(e.remotes) < 2 || len(e.failed) < min(witnesses, len(e.remotes))):
		return
	case !e.down:
		o.log.Info("git host fails as a whole", "host", e.key.host, "kind", err.Kind)
	}
	e.down = true
	e.failures++
	e.probe = now.At + o.backoff(o.paceOf(e), e.failures)
	o.wakeAt(e.probe)
	for r := range e.remotes {
		o.refuse(r, err, now)
	}
}

// recovered lists what waited for the host, and what had failed with it.
func (o *Observer) recovered(e *endpoint, now fleet.Instant) {
	o.log.Info("git host answers again", "host", e.key.host)
	e.down, e.failures = false, 0
	for r := range e.remotes {
		r.lost = false
		for _, s := range r.sources {
			if s.err != nil && s.err.OfHost() {
				s.ask(now.At)
				o.consider(s, now)
			}
		}
	}
}

// refuse tells the sources that wait for a remote why they have to go on waiting,
// and takes all of it off the sweeps.
func (o *Observer) refuse(r *remote, err *Error, now fleet.Instant) {
	for id, s := range r.sources {
		if r.waiting[id] != nil {
			if s.err == nil || s.err.Kind != err.Kind {
				o.news.source(id)
			}
			s.err = err
		}
		for name := range s.ranks {
			o.settle(o.waves[name], id, now, true)
		}
	}
}

// paceOf is the schedule of the most eager source of an endpoint.
func (o *Observer) paceOf(e *endpoint) Schedule {
	var pace Schedule
	for r := range e.remotes {
		for _, s := range r.sources {
			one := o.schedule(s)
			if pace.Interval == 0 || one.Interval < pace.Interval {
				pace = one
			}
		}
	}
	return pace
}

// backoff is how long something that failed so often in a row is left alone: as
// long as ever after the first failure, then twice that, and so on up to a third
// of what makes observations stale.
func (o *Observer) backoff(s Schedule, failures int) time.Duration {
	limit := max(s.Interval, s.StaleAfter/3)
	delay := s.Interval
	for i := 1; i < failures && delay < limit; i++ {
		delay *= 2
	}
	return min(o.jitter(delay), limit)
}
