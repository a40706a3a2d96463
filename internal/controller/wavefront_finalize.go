// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

// releasePatience is how long a Wavefront that is being deleted goes on trying
// to let go of its sources. After that it goes anyway: an object that can't be
// deleted helps nobody, and the events say what was left as it was.
const releasePatience = 5 * time.Minute

// finalize lets go of all sources of a Wavefront that is being deleted, by its
// release policy, and then of the Wavefront. One that is suspended or in Shadow
// releases too.
func (r *WavefrontReconciler) finalize(ctx context.Context, s *scope, wf *wavefrontv1.Wavefront) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(wf, wavefrontv1.WavefrontFinalizer) {
		r.forget(wf.Name)
		return ctrl.Result{}, nil
	}
	r.ledger.forget(wf.Name)
	if s.deleting == 0 {
		s.deleting = r.Clock.Since()
	}
	outcomes, err := r.releaseAll(ctx, wf)
	rep := r.Reporter.Release(ctx, wf, outcomes, err)
	if err != nil && r.Clock.Since()-s.deleting < releasePatience {
		return ctrl.Result{}, errors.Join(err, r.publish(ctx, s, wf, rep))
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "removing the finalizer although some sources could not be released")
	}
	others := slices.DeleteFunc(slices.Clone(wf.Finalizers), func(name string) bool { return name == wavefrontv1.WavefrontFinalizer })
	if err := r.patchFinalizers(ctx, s, wf, others); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	r.forget(wf.Name)
	return ctrl.Result{}, nil
}

// releaseAll releases every source that names the Wavefront as its owner.
func (r *WavefrontReconciler) releaseAll(ctx context.Context, wf *wavefrontv1.Wavefront) ([]report.Outcome, error) {
	successor, err := r.successors(ctx, wf.Name)
	if err != nil {
		return nil, err
	}
	results, err := r.Writer.ReleaseAll(ctx, wf.Name, wf.GetReleasePolicy(), successor)
	if err != nil {
		return nil, err
	}
	var outcomes []report.Outcome
	var failures []error
	for _, result := range results {
		if o, ok := released(result); ok {
			outcomes = append(outcomes, o)
		}
		if result.Outcome == pin.Stale {
			failures = append(failures, fmt.Errorf("failed to release %s: it keeps changing", result.Source))
		}
		if result.Err != nil {
			failures = append(failures, result.Err)
		}
	}
	return outcomes, errors.Join(failures...)
}

// successors finds who takes a source over. A spec that selects nothing (any
// more) must not keep a Wavefront from going: then nobody does.
func (r *WavefrontReconciler) successors(ctx context.Context, name string) (func(*sourcev1.GitRepository) string, error) {
	snap, err := r.Reader.Read(ctx)
	if err != nil {
		return nil, err
	}
	in, err := snap.Input(name, fleet.Instant{}, r.Clock.Time(), nil)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "releasing without handing over")
		return func(*sourcev1.GitRepository) string { return "" }, nil
	}
	return func(g *sourcev1.GitRepository) string { return handOver(&in, sourceID(g)) }, nil
}
