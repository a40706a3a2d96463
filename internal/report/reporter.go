// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

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
	// write, the heartbeat, an announcement that ripens), counted from now;
	// zero if no pass is needed for publishing.
	Requeue time.Duration

	digest digest
	size   int
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
	a := r.announcer(ctx, wf)
	ev := &pass.Evaluation
	graph := graphCondition(ev)

	a.rememberPending(ev)
	a.outcomes(pass.Outcomes, ev)
	a.shadowAdmissions(ev)
	a.holds(ev)
	a.blocked(ev)
	a.stuck(ev)
	a.enrolment(ev)
	a.unsupported(ev)
	a.interleaved(ev)
	a.graph(graph)

	r.metrics.evaluated(wf.Name, pass.Duration)
	if valid(graph) {
		r.metrics.show(wf.Name, pictureOf(&pass, a.memory))
	} else {
		r.metrics.withdraw(wf.Name)
	}
	return a.render(wf, true, func(now time.Time) wavefrontv1.WavefrontStatus {
		return statusOf(wf, &pass, a.memory, now)
	})
}

// Abort reports that the pass could not be carried out because of err (which
// must be free of secrets): Ready turns False with reason EvaluationFailed, the
// last picture stands, and the gauges are withdrawn.
func (r *Reporter) Abort(ctx context.Context, wf *wavefrontv1.Wavefront, err error) Report {
	return r.fail(ctx, wf, failure{
		reason: wavefrontv1.EvaluationFailedReason, retry: true, message: err.Error(),
	})
}

// Invalid reports a spec that can't be carried out until it is changed: the
// Wavefront is Stalled with reason InvalidSpec and the gauges are withdrawn.
func (r *Reporter) Invalid(ctx context.Context, wf *wavefrontv1.Wavefront, err error) Report {
	return r.fail(ctx, wf, failure{
		reason: wavefrontv1.InvalidSpecReason, message: err.Error(),
	})
}

// Release reports the attempt to let go of all sources of a Wavefront that is
// being deleted. With err nil everything was released, nothing has to be
// written and the finalizer may go; else Ready turns False with reason
// ReleaseFailed.
func (r *Reporter) Release(ctx context.Context, wf *wavefrontv1.Wavefront, outcomes []Outcome, err error) Report {
	r.announcer(ctx, wf).outcomes(outcomes, &fleet.Evaluation{})
	if err == nil {
		r.metrics.withdraw(wf.Name)
		return Report{}
	}
	return r.fail(ctx, wf, failure{
		reason: wavefrontv1.ReleaseFailedReason, retry: true, message: err.Error(),
	})
}

// fail renders a failure beside the last picture.
func (r *Reporter) fail(ctx context.Context, wf *wavefrontv1.Wavefront, f failure) Report {
	r.metrics.withdraw(wf.Name)
	return r.announcer(ctx, wf).render(wf, false, func(now time.Time) wavefrontv1.WavefrontStatus {
		return failedStatus(wf, f, now)
	})
}

// Written confirms that the report's status was written.
func (r *Reporter) Written(wf *wavefrontv1.Wavefront, report Report) {
	if report.Status == nil {
		return
	}
	s := &r.recall(wf).publishing
	s.written, s.size, s.writtenAt = report.digest, report.size, r.clock.Now()
	if t := report.Status.LastEvaluated; t != nil {
		s.heartbeat = t.Time
	}
}

// Forget drops everything about a Wavefront that is gone, its metrics included.
func (r *Reporter) Forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memory, name)
	r.metrics.forget(name)
}

// recall returns the memory of a Wavefront; for one that is new to this process
// it is read back from the status.
func (r *Reporter) recall(wf *wavefrontv1.Wavefront) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memory[wf.Name]
	if m == nil || m.uid != wf.UID {
		m = restore(wf)
		r.memory[wf.Name] = m
	}
	return m
}

// announcer returns what a pass of the Wavefront announces with.
func (r *Reporter) announcer(ctx context.Context, wf *wavefrontv1.Wavefront) *announcer {
	return &announcer{
		wf: wf, memory: r.recall(wf), now: r.clock.Now(),
		events: r.events, metrics: r.metrics, log: ctrl.LoggerFrom(ctx),
	}
}

// announcer is one pass in the course of being announced.
type announcer struct {
	wf      *wavefrontv1.Wavefront
	memory  *memory
	now     time.Time
	events  Sink
	metrics *Metrics
	log     logr.Logger
	// ripens is the soonest moment at which an announcement ripens; zero for
	// none.
	ripens time.Time
	// changes numbers the events of the pass.
	changes int
}

// ripe tells whether the moment has come; if not, the pass is repeated then.
func (a *announcer) ripe(at time.Time) bool {
	if !at.After(a.now) {
		return true
	}
	if a.ripens.IsZero() || at.Before(a.ripens) {
		a.ripens = at
	}
	return false
}

// token differs for every change that is announced.
func (a *announcer) token() string {
	a.changes++
	return fmt.Sprintf("%d-%d", a.now.UnixNano(), a.changes)
}

// render renders the status if it may be written now, and keeps it if it must.
// A picture that was evaluated moves the heartbeat.
func (a *announcer) render(
	wf *wavefrontv1.Wavefront, evaluated bool, picture func(now time.Time) wavefrontv1.WavefrontStatus,
) Report {
	s := &a.memory.publishing
	interval := wf.Spec.Poll.GetInterval()
	wake := a.ripens
	if evaluated {
		a.wakeAt(&wake, s.heartbeat.Add(interval))
	}
	if wait := s.wait(a.now); wait > 0 {
		a.wakeAt(&wake, a.now.Add(wait))
		return Report{Requeue: a.until(wake)}
	}
	status := picture(a.now)
	report := Report{}
	report.digest, report.size = fingerprint(&status)
	s.renderedAt = a.now
	beat := evaluated && s.untilHeartbeat(a.now, interval) <= 0
	if report.digest == s.written && !beat {
		report.Requeue = a.until(wake)
		return report
	}
	if beat {
		status.LastEvaluated = metav1Time(a.now)
		a.wakeAt(&wake, a.now.Add(interval))
	}
	report.Status = &status
	report.Requeue = a.until(wake)
	return report
}

// wakeAt brings the wake-up forward to a moment still to come.
func (a *announcer) wakeAt(wake *time.Time, at time.Time) {
	if at.After(a.now) && (wake.IsZero() || at.Before(*wake)) {
		*wake = at
	}
}

func (a *announcer) until(wake time.Time) time.Duration {
	if wake.IsZero() {
		return 0
	}
	return wake.Sub(a.now)
}
