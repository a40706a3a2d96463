// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

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
	case h.latest == nil || h.latest.URL != l.URL || h.latest.Ref != l.Ref:
		*h = History{latest: l.observation(l)}
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
	kept := h.replaced[:0:0]
	for _, r := range h.replaced {
		if !r.Same(l.Commit) && !r.Same(h.latest.Commit) {
			kept = append(kept, r)
		}
	}
	kept = append(kept, h.latest.Commit)
	if extra := len(kept) - historySize; extra > 0 {
		kept = kept[extra:]
	}
	h.replaced, h.doubt, h.latest = kept, nil, l.observation(l)
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
