// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/patch"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/report"
)

// barrierRetry is how soon a cache that lags is compared again.
const barrierRetry = 200 * time.Millisecond

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

	barrier *barrier
	roster  *roster
	ledger  *ledger
	scopes  scopes
}

// Reconcile is one pass over the fleet of a Wavefront.
func (r *WavefrontReconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, retErr error) {
	start := time.Now()
	wf := &wavefrontv1.Wavefront{}
	if err := r.Get(ctx, req.NamespacedName, wf); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.roster.add(wf.Name)
	s := r.scopes.of(wf.Name)
	wf = s.newest(wf)
	defer func() { r.Metrics.RecordDuration(ctx, wf, start) }()

	if ready, err := r.barrier.Pass(ctx); err != nil || !ready {
		return ctrl.Result{RequeueAfter: barrierRetry}, err
	}
	patcher := patch.NewSerialPatcher(wf, r.Client)
	if !wf.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, s, wf, patcher)
	}
	// The finalizer comes first: it must stand before there is a pin to let go of.
	if controllerutil.AddFinalizer(wf, wavefrontv1.WavefrontFinalizer) {
		if err := patcher.Patch(ctx, wf, patch.WithFieldOwner(wavefrontv1.StatusManager)); err != nil {
			return ctrl.Result{}, fmt.Errorf("failed to add finalizer to Wavefront %q: %w", wf.Name, err)
		}
		s.wrote(wf)
	}
	pass, retry, err := r.pass(ctx, s, wf)
	rep, err := r.report(ctx, s, wf, pass, err)
	if perr := r.publish(ctx, s, wf, rep); perr != nil {
		return ctrl.Result{}, errors.Join(err, perr)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: soonest(rep.Requeue, retry)}, nil
}

// report turns the result of a pass into what is to be published. A spec that
// can't be carried out is terminal: only its change helps.
func (r *WavefrontReconciler) report(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, pass report.Pass, err error) (report.Report, error) {
	spec := &cluster.SpecError{}
	switch {
	case errors.As(err, &spec):
		r.ledger.forget(wf.Name)
		r.Observer.Forget(wf.Name)
		return r.Reporter.Invalid(ctx, wf, err), reconcile.TerminalError(err)
	case err != nil:
		return r.Reporter.Abort(ctx, wf, err), err
	}
	return r.Reporter.Publish(ctx, s.asHandled(wf), pass), nil
}

// publish writes the status, if it is due: in one request, so that conditions and
// counts never disagree, and a status costs one write.
func (r *WavefrontReconciler) publish(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront, rep report.Report) error {
	if rep.Status == nil {
		return nil
	}
	base := client.MergeFrom(wf.DeepCopy())
	wf.Status = *rep.Status
	if err := r.Status().Patch(ctx, wf, base, client.FieldOwner(wavefrontv1.StatusManager)); err != nil {
		return fmt.Errorf("failed to patch status of Wavefront %q: %w", wf.Name, err)
	}
	s.wrote(wf)
	r.Reporter.Written(wf, rep)
	return nil
}

// forget drops everything about a Wavefront that is gone.
func (r *WavefrontReconciler) forget(name string) {
	r.roster.remove(name)
	r.scopes.forget(name)
	r.ledger.forget(name)
	r.Observer.Forget(name)
	r.Virtual.Drop(name)
	r.Reporter.Forget(name)
}
