// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/report"
)

// cacheRetry is how soon a cache that lags is looked at again.
const cacheRetry = 200 * time.Millisecond

// errNotLeader says that the lease ran out in the middle of a pass. Nothing is
// written any more, the status included.
var errNotLeader = errors.New("not the leader")

// WavefrontReconciler judges the fleet of one Wavefront per pass, moves what may
// move, and publishes what it found.
type WavefrontReconciler struct {
	client.Client
	runtimectrl.Metrics

	// Live reads from the API server, past the cache.
	Live client.Reader
	// Reader lists the fleet from the cache, the process's own writes included.
	Reader *cluster.Reader
	// Clock of the process, shared with Observer and Tracker.
	Clock *refs.Clock
	// Observer watches the sources' references.
	Observer *refs.Observer
	// Tracker knows what this process has seen of each pin.
	Tracker *pin.Tracker
	// Virtual keeps the would-be pins of Wavefronts in Shadow.
	Virtual *pin.Virtual
	// Judge tells whose a pin is.
	Judge pin.Judge
	// Writer writes sources.
	Writer *pin.Writer
	// Reporter publishes passes.
	Reporter *report.Reporter
	// Shard selects the Wavefronts that this process reconciles.
	Shard labels.Selector
	// Lease returns an error unless this process provably leads.
	Lease func() error

	barrier *barrier
	roster  *roster
	ledger  *ledger
	scopes  scopes
}

// Reconcile is one pass over the fleet of a Wavefront, or its end.
func (r *WavefrontReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	start := time.Now()
	wf := &wavefrontv1.Wavefront{}
	if err := r.Get(ctx, req.NamespacedName, wf); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Matches(labels.Set(wf.Labels)) {
		r.forget(req.Name)
		return ctrl.Result{}, nil
	}
	s := r.scope(wf)
	wf = s.newest(wf)
	defer func() { r.RecordDuration(ctx, wf, start) }()

	switch ready, err := r.barrier.Pass(ctx); {
	case err != nil:
		return ctrl.Result{}, err
	case !ready:
		return ctrl.Result{RequeueAfter: cacheRetry}, nil
	}
	result, err := r.reconcile(ctx, s, wf)
	switch {
	case ctx.Err() != nil: // the process is being stopped, which is nobody's failure
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err): // the Wavefront is not what was judged any more
		return ctrl.Result{RequeueAfter: cacheRetry}, nil
	}
	return result, err
}

// scope returns what is remembered of the Wavefront, and of no namesake.
func (r *WavefrontReconciler) scope(wf *wavefrontv1.Wavefront) *scope {
	s := r.scopes.of(wf.Name)
	if s.uid != wf.UID {
		r.forget(wf.Name)
		s = r.scopes.of(wf.Name)
		s.uid = wf.UID
	}
	r.roster.add(wf.Name, wf.Spec.Poll.GetInterval())
	return s
}

func (r *WavefrontReconciler) reconcile(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront) (ctrl.Result, error) {
	if !wf.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, s, wf)
	}
	// The finalizer comes first: it must stand before there is a pin to let go of.
	if !controllerutil.ContainsFinalizer(wf, wavefrontv1.WavefrontFinalizer) {
		if err := r.patchFinalizers(ctx, s, wf, append(slices.Clone(wf.Finalizers), wavefrontv1.WavefrontFinalizer)); err != nil {
			return ctrl.Result{}, err
		}
	}
	pass, retry, err := r.pass(ctx, s, wf)
	if errors.Is(err, errNotLeader) || ctx.Err() != nil {
		return ctrl.Result{}, err
	}
	rep := r.report(ctx, s, wf, pass, err)
	s.begun = s.begun || err == nil
	if perr := r.publish(ctx, s, wf, rep); perr != nil {
		return ctrl.Result{}, perr
	}
	return resultOf(rep, retry, err)
}

// resultOf says when to pass again. A spec that can't be carried out is terminal,
// because only its change helps, but not before the status says so.
func resultOf(rep report.Report, retry time.Duration, err error) (ctrl.Result, error) {
	spec := &cluster.SpecError{}
	switch {
	case errors.As(err, &spec) && rep.Status == nil && rep.Requeue > 0:
		return ctrl.Result{RequeueAfter: rep.Requeue}, nil
	case errors.As(err, &spec):
		return ctrl.Result{}, reconcile.TerminalError(err)
	case err != nil:
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: soonest(rep.Requeue, retry)}, nil
}

// report turns the result of a pass into what is to be published.
func (r *WavefrontReconciler) report(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, pass report.Pass, err error) report.Report {
	spec := &cluster.SpecError{}
	switch {
	case errors.As(err, &spec):
		r.ledger.forget(wf.Name)
		r.Observer.Forget(wf.Name)
		return r.Reporter.Invalid(ctx, wf, err)
	case err != nil:
		return r.Reporter.Abort(ctx, wf, err)
	}
	return r.Reporter.Publish(ctx, s.asHandled(wf), pass)
}

// publish writes the status, if it is due: in one request, so that conditions and
// counts never disagree, and a status costs one write. It is refused where the
// Wavefront is not the version that the status was made from.
func (r *WavefrontReconciler) publish(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, rep report.Report) error {
	if rep.Status == nil {
		return nil
	}
	err := r.patch(s, wf, func() { wf.Status = *rep.Status }, func(p client.Patch) error {
		return r.Status().Patch(ctx, wf, p, client.FieldOwner(wavefrontv1.StatusManager))
	})
	if err != nil {
		return fmt.Errorf("failed to patch status of Wavefront %q: %w", wf.Name, err)
	}
	r.Reporter.Written(wf, rep)
	return nil
}

// patchFinalizers adds the finalizer of the controller, or removes it.
func (r *WavefrontReconciler) patchFinalizers(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, finalizers []string) error {
	err := r.patch(s, wf, func() { wf.Finalizers = finalizers }, func(p client.Patch) error {
		return r.Patch(ctx, wf, p, client.FieldOwner(wavefrontv1.StatusManager))
	})
	if err != nil {
		return fmt.Errorf("failed to patch finalizers of Wavefront %q: %w", wf.Name, err)
	}
	return nil
}

// patch changes the Wavefront and sends the difference, if this process leads. The
// API server refuses it where its version is another one than what was changed.
func (r *WavefrontReconciler) patch(s *scope, wf *wavefrontv1.Wavefront, change func(), send func(client.Patch) error) error {
	p := client.MergeFromWithOptions(wf.DeepCopy(), client.MergeFromWithOptimisticLock{})
	change()
	if err := r.Lease(); err != nil {
		return err
	}
	if err := send(p); err != nil {
		return err
	}
	s.wrote(wf)
	return nil
}

// forget drops everything about a Wavefront that is gone, or not of this process.
func (r *WavefrontReconciler) forget(name string) {
	r.roster.remove(name)
	r.scopes.forget(name)
	r.ledger.forget(name)
	r.Observer.Forget(name)
	r.Virtual.Drop(name)
	r.Reporter.Forget(name)
}
