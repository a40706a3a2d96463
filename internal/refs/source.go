// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// triggerGap is the least time between two listings of one source that are
// asked for by triggers, so that a burst of them costs two listings at most.
const triggerGap = time.Second

// source is one observed GitRepository. The Observer's mutex guards it.
type source struct {
	id fleet.ID
	// repository holds what credentials are made from.
	repository *sourcev1.GitRepository
	// ref is the tracking ref, requestedAt Flux's annotation of that name.
	ref, requestedAt string
	remote           *remote
	// ranks of the source in the Wavefronts that want it.
	ranks map[string]int

	history fleet.History
	// err is the error of the latest listing.
	err *Error
	// failures counts failed listings in a row; retry is when the next one may
	// be, if there are any.
	failures int
	retry    time.Duration
	// started is when the latest listing started, listed when the latest
	// successful one did.
	started, listed fleet.Instant
	// doubted is when a listing first returned a value that its history does
	// not accept yet; zero if none did.
	doubted fleet.Instant

	// asked tells that a listing is wanted, and earliest when it may start.
	asked    bool
	earliest time.Duration
	// forced: by somebody who does not want to wait for ancestors.
	forced bool
	// refresh is the moment that a listing is wanted after; zero if none is.
	refresh fleet.Instant
	// queued is when the source got into its remote's queue; zero if it is in
	// none.
	queued fleet.Instant
	// version tells a listing of what the source was from one of what it is.
	version uint64
}

// target takes in one target of a Wavefront. It tells whether it can be
// observed at all.
func (o *Observer) target(w *wave, t Target, now fleet.Instant) bool {
	ref, style := Tracking(t.Repository.Spec.Reference)
	if style != "" {
		return false
	}
	key := keyOf(t.Repository)
	requestedAt := t.Repository.GetAnnotations()[fluxmeta.ReconcileRequestAnnotation]
	s := o.sources[t.Source]
	switch {
	case s == nil:
		s = &source{id: t.Source, ranks: map[string]int{}}
		o.sources[t.Source] = s
		o.change(s, t.Repository, key, ref, now)
	case s.remote.key != key || s.ref != ref:
		o.change(s, t.Repository, key, ref, now)
	case s.requestedAt != requestedAt:
		o.trigger(s, now)
	}
	s.requestedAt = requestedAt
	if s.history.Latest(s.remote.key.url, s.ref) == nil {
		s.history.Pinned(t.Previous)
	}
	s.history.Pinned(t.Pin)
	s.ranks[w.name] = t.Rank
	w.members[t.Source] = true
	return true
}

// change makes the source what the object says now, and lists it at once. What
// was observed of another URL or ref does not count any more.
func (o *Observer) change(s *source, repository *sourcev1.GitRepository, key remoteKey, ref string, now fleet.Instant) {
	if s.remote != nil {
		if s.remote.key.url != key.url || s.ref != ref {
			s.history, s.listed, s.refresh, s.doubted = fleet.History{}, fleet.Instant{}, fleet.Instant{}, fleet.Instant{}
		}
		o.detach(s)
	}
	s.version++
	s.repository = &sourcev1.GitRepository{Spec: *repository.Spec.DeepCopy()}
	s.repository.Name, s.repository.Namespace = repository.Name, repository.Namespace
	s.ref, s.err, s.failures, s.retry = ref, nil, 0, 0
	o.attach(s, key)
	s.ask(now.At)
	s.forced = true
	o.consider(s, now)
}

// leave takes a source out of a Wavefront, and out of observation once no other
// wants it.
func (o *Observer) leave(w *wave, s *source) {
	delete(w.members, s.id)
	delete(s.ranks, w.name)
	o.settle(w, s.id, o.clock.Now(), true)
	if len(s.ranks) > 0 {
		return
	}
	s.version++
	o.detach(s)
	delete(o.sources, s.id)
}

// ask wants a listing that starts no earlier than at. Of several wishes the
// earliest counts.
func (s *source) ask(at time.Duration) {
	if !s.asked || at < s.earliest {
		s.earliest = at
	}
	s.asked = true
}

// trigger wants a listing at once, whatever the source's own pace is.
func (o *Observer) trigger(s *source, now fleet.Instant) {
	at := now.At
	if !s.started.IsZero() {
		at = max(at, s.started.At+triggerGap)
	}
	s.ask(at)
	s.forced = true
	s.remote.endpoint.hurry(at)
	o.wakeAt(at)
	o.consider(s, now)
}

// ready returns when the source may be listed next; false if nobody wants it.
func (o *Observer) ready(s *source, now fleet.Instant) (time.Duration, bool) {
	at, wanted := s.earliest, s.asked
	if !s.refresh.IsZero() {
		refresh := s.refresh.At + o.lag(s)
		if !s.started.IsZero() {
			refresh = max(refresh, s.started.At+triggerGap)
		}
		if s.failures > 0 {
			refresh = max(refresh, s.retry)
		}
		if !wanted || refresh < at {
			at = refresh
		}
		wanted = true
	}
	if wanted && !s.forced && o.deferred(s) {
		at = max(at, s.started.At+o.schedule(s).StaleAfter/2)
	}
	return max(at, now.At), wanted
}

// deferred tells whether a Wavefront wants the source left alone.
func (o *Observer) deferred(s *source) bool {
	for name := range s.ranks {
		if o.waves[name].deferred[s.id] {
			return true
		}
	}
	return false
}

// consider queues the source if it may be listed now, and sets the alarm if it
// may later.
func (o *Observer) consider(s *source, now fleet.Instant) {
	at, wanted := o.ready(s, now)
	switch {
	case !wanted:
		s.remote.unqueue(s)
	case at <= now.At:
		s.remote.queue(s, now)
	default:
		o.wakeAt(at)
	}
}

// schedule is the policy that counts for a source: of the Wavefronts that want
// it, the one with the shortest interval, which sets the pace, with the longest
// timeout and replica lag.
func (o *Observer) schedule(s *source) Schedule {
	var all Schedule
	for name := range s.ranks {
		one := o.waves[name].schedule
		if all.Interval == 0 || one.Interval < all.Interval {
			all.Interval = one.Interval
		}
		if all.StaleAfter == 0 || one.StaleAfter < all.StaleAfter {
			all.StaleAfter = one.StaleAfter
		}
		all.Timeout = max(all.Timeout, one.Timeout)
		all.ReplicaLag = max(all.ReplicaLag, one.ReplicaLag)
	}
	return all
}

// longest is the longest interval of the Wavefronts that want a source: what a
// value that came back must outlast.
func (o *Observer) longest(s *source) time.Duration {
	var longest time.Duration
	for name := range s.ranks {
		longest = max(longest, o.waves[name].schedule.Interval)
	}
	return longest
}

func (o *Observer) lag(s *source) time.Duration { return o.schedule(s).ReplicaLag }

// rank is the highest of the source's ranks.
func (s *source) rank() int {
	highest := 0
	for _, rank := range s.ranks {
		highest = max(highest, rank)
	}
	return highest
}
