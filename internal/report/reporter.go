// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Pass is one valid evaluation of a Wavefront and what was done about it.
type Pass struct {
	// Evaluation of the fleet.
	Evaluation fleet.Evaluation
	// Outcomes of the writes of this pass, releases included.
	Outcomes []Outcome
	// ShadowPins are the would-be pins that differ from the sources' artifacts,
	// by source, after this pass; used in Shadow only.
	ShadowPins map[fleet.ID]fleet.Revision
	// OldestObservation is when the oldest of the observations that count was
	// made; zero if there is none.
	OldestObservation time.Time
	// Duration of the evaluation.
	Duration time.Duration
}

// Report is what the controller has to do to publish a pass.
type Report struct {
	// Status to write now; nil while nothing has to be written. Tell the
	// Reporter by Written once it is written.
	Status *wavefrontv1.WavefrontStatus
	// Requeue is when the next pass is needed for publishing (a throttled
	// write, the heartbeat, an announcement that ripens), counted from now. It
	// is always positive.
	Requeue time.Duration

	digest digest
}

// Reporter publishes passes: it renders the status, and announces each change
// once as event, metric and log line. One serves all Wavefronts of a process.
// Calls for one Wavefront must not overlap; those for different ones may.
type Reporter struct {
	events  Sink
	metrics *Metrics
	clock   clock.PassiveClock

	mu     sync.Mutex
	memory map[string]*memory
}

// New returns a Reporter that sends events to the sink (usually a Delivery).
func New(events Sink, metrics *Metrics, clk clock.PassiveClock) *Reporter {
	return &Reporter{events: events, metrics: metrics, clock: clk, memory: map[string]*memory{}}
}

// Publish takes a valid pass in: it announces what changed since the last one
// and renders the status if it is due. The first pass of a Wavefront in a
// process reads back what its status says was announced before, so that a
// restart neither repeats events nor resets ages.
//
// A reconcile request (reconcile.fluxcd.io/requestedAt on wf) counts as
// handled: act on it before.
func (r *Reporter) Publish(ctx context.Context, wf *wavefrontv1.Wavefront, pass Pass) Report {
	return Report{}
}

// Abort reports that the pass could not be carried out because of err (which
// must be free of secrets): Ready turns False with reason EvaluationFailed, the
// last picture stands, and the gauges are withdrawn.
func (r *Reporter) Abort(ctx context.Context, wf *wavefrontv1.Wavefront, err error) Report {
	return Report{}
}

// Invalid reports a spec that can't be carried out until it is changed: the
// Wavefront is Stalled with reason InvalidSpec and the gauges are withdrawn.
func (r *Reporter) Invalid(ctx context.Context, wf *wavefrontv1.Wavefront, err error) Report {
	return Report{}
}

// Release reports the attempt to let go of all sources of a Wavefront that is
// being deleted. With err nil everything was released, nothing has to be
// written and the finalizer may go; else Ready turns False with reason
// ReleaseFailed.
func (r *Reporter) Release(ctx context.Context, wf *wavefrontv1.Wavefront, outcomes []Outcome, err error) Report {
	return Report{}
}

// Written confirms that the report's status was written.
func (r *Reporter) Written(wf *wavefrontv1.Wavefront, report Report) {}

// Forget drops everything about a Wavefront that is gone, its metrics included.
func (r *Reporter) Forget(name string) {}
