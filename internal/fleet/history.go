// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"
)

// historySize is how many values of a ref are remembered: enough to recognise a
// lagging replica of a busy branch, and constant in memory.
const historySize = 16

// Listing is one successful answer of a git server about one ref.
type Listing struct {
	URL    string
	Ref    string
	Commit Revision
	// Started and Completed enclose the request.
	Started   Instant
	Completed Instant
	// At is Completed as time of day, for reports.
	At time.Time
}

// History turns listings of one ref into the observation that counts. A value
// that was seen before and had been replaced since is accepted only when a
// second listing, started at least one interval after the first that returned
// it, agrees: a lagging replica of a git host must not cause a rollback. Until
// then the earlier observation stands and grows older. The zero History is
// ready to use; it is not safe for concurrent use.
type History struct {
	latest *Observation
	// replaced holds values that were accepted and have been replaced since,
	// oldest first, at most historySize.
	replaced []Revision
	// doubt is the first listing that returned a replaced value.
	doubt *Listing
	// pinned is what is pinned from the ref.
	pinned Revision
}

// Pinned says what is pinned from the ref now. A pin was the ref's value once,
// whoever saw it, so it counts among those that were replaced as soon as something
// else is seen or pinned: otherwise a process that has just started would take a
// lagging replica's word for a reset.
func (h *History) Pinned(pin Revision) {
	if pin == "" || pin.Same(h.pinned) {
		return
	}
	h.replaced, h.pinned = h.forgo(h.replaced, h.pinned), pin
}

// forgo adds a value to those that were replaced, unless it is the latest.
func (h *History) forgo(replaced []Revision, r Revision) []Revision {
	if r == "" || contains(replaced, r) || (h.latest != nil && h.latest.Commit.Same(r)) {
		return replaced
	}
	replaced = append(replaced[:len(replaced):len(replaced)], r)
	return replaced[max(0, len(replaced)-historySize):]
}

// Latest returns the observation that counts for url and ref; nil if there is
// none. The result is immutable.
func (h *History) Latest(url, ref string) *Observation {
	if h.latest == nil || h.latest.URL != url || h.latest.Ref != ref {
		return nil
	}
	return h.latest
}

// Accept takes a listing in and tells whether it became the latest observation.
// A listing that started before the latest one says nothing new. A listing of
// another URL or ref starts a new history.
func (h *History) Accept(l Listing, interval time.Duration) bool {
	switch {
	case h.latest != nil && (h.latest.URL != l.URL || h.latest.Ref != l.Ref):
		*h = History{latest: l.observation(l), pinned: h.pinned}
		return true
	case h.latest == nil && h.doubtful(l, interval):
		return false
	case h.latest == nil:
		h.replace(l)
		return true
	case !l.Started.After(h.latest.Started, 0):
		return false
	case h.latest.Commit.Same(l.Commit):
		h.doubt = nil
		next := *h.latest
		next.Started, next.Completed = l.Started, l.Completed
		h.latest = &next
		return true
	case h.doubtful(l, interval):
		return false
	}
	h.replace(l)
	return true
}

// doubtful tells whether the listing returns a replaced value that no earlier
// listing, at least one interval ago, has returned since.
func (h *History) doubtful(l Listing, interval time.Duration) bool {
	if !contains(h.replaced, l.Commit) {
		h.doubt = nil
		return false
	}
	if h.doubt != nil && h.doubt.Commit.Same(l.Commit) {
		return !l.Started.After(h.doubt.Started, interval)
	}
	h.doubt = &l
	return true
}

// replace makes the listing the latest observation and remembers what it
// replaced.
func (h *History) replace(l Listing) {
	before := h.latest
	h.latest, h.doubt = l.observation(l), nil
	kept := slices.DeleteFunc(slices.Clone(h.replaced), l.Commit.Same)
	kept = h.forgo(kept, h.pinned)
	if before != nil {
		// The latest to be replaced is the last to be forgotten.
		kept = h.forgo(slices.DeleteFunc(kept, before.Commit.Same), before.Commit)
	}
	h.replaced = kept
}

// observation makes an observation first seen at the listing first.
func (l Listing) observation(first Listing) *Observation {
	return &Observation{
		URL: l.URL, Ref: l.Ref, Commit: l.Commit,
		Started: l.Started, Completed: l.Completed,
		First: first.Completed, FirstAt: first.At,
	}
}

func contains(values []Revision, r Revision) bool {
	for _, v := range values {
		if v.Same(r) {
			return true
		}
	}
	return false
}
