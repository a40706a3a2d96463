// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/patch"
	rreconcile "github.com/fluxcd/pkg/runtime/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp"
)

// ownedConditions are the conditions of a FluxApp.
var ownedConditions = []string{
	fluxmeta.ReadyCondition,
	fluxmeta.ReconcilingCondition,
	fluxmeta.StalledCondition,
}

// record turns what happened into status and events, and into the error that
// has the reconciliation tried again, if it is to be.
func (r *Reconciler) record(ctx context.Context, s *scope, failure error) error {
	recordVersions(s)
	markVerdict(s.app, verdictOf(s, failure))
	if requested, ok := fluxmeta.ReconcileAnnotationValue(s.app.Annotations); ok && retryable(failure) == nil {
		s.app.Status.LastHandledReconcileAt = requested
	}
	r.announceVersion(s)
	r.announceCondition(s, fluxappv1.ActionReconcile)
	err := s.patcher.Patch(ctx, s.app, patchOptions(s.app)...)
	if err = client.IgnoreNotFound(err); err != nil {
		err = fmt.Errorf("failed to write status of FluxApp %q: %w", client.ObjectKeyFromObject(s.app), err)
	}
	if isStalled(failure) {
		failure = reconcile.TerminalError(failure)
	}
	return errors.Join(failure, err)
}

// recordVersions sets what is known of the versions. While the objects cannot
// be seen, what was known stays.
func recordVersions(s *scope) {
	if s.intent.App == nil {
		return
	}
	if version, err := s.intent.Selected(s.observed); err == nil {
		s.app.Status.LatestVersion = version
	}
	if s.observed.HelmRelease != nil {
		s.app.Status.AppliedVersion = fluxapp.AppliedVersion(s.observed.HelmRelease)
	}
}

// verdictOf judges what was seen, unless a step failed or what was seen has
// just been changed.
func verdictOf(s *scope, failure error) fluxapp.Verdict {
	var step *stepError
	switch {
	case errors.As(failure, &step) && step.stalled:
		return fluxapp.Verdict{State: fluxapp.Stalled, Reason: string(step.reason), Message: step.Error()}
	case errors.As(failure, &step):
		return fluxapp.Verdict{State: fluxapp.Failed, Reason: string(step.reason), Message: step.Error()}
	case failure != nil:
		return fluxapp.Verdict{State: fluxapp.Failed, Reason: string(fluxappv1.ReasonApplyFailed), Message: failure.Error()}
	}
	verdict := s.intent.Judge(s.observed)
	if verdict.State == fluxapp.Ready && !s.outcome.Current {
		return fluxapp.Verdict{State: fluxapp.Progressing, Reason: string(fluxappv1.ReasonProgressing),
			Message: "waiting for the objects to take up what was changed"}
	}
	return verdict
}

// markVerdict sets the conditions as kstatus wants them: Reconciling and
// Stalled exist only while they are true.
func markVerdict(app *fluxappv1.FluxApp, verdict fluxapp.Verdict) {
	switch verdict.State {
	case fluxapp.Ready:
		conditions.Delete(app, fluxmeta.ReconcilingCondition)
		conditions.Delete(app, fluxmeta.StalledCondition)
		conditions.MarkTrue(app, fluxmeta.ReadyCondition, verdict.Reason, "%s", verdict.Message)
	case fluxapp.Progressing:
		rreconcile.ProgressiveStatus(true, app, verdict.Reason, "%s", verdict.Message)
	case fluxapp.Failed:
		conditions.MarkReconciling(app, string(fluxappv1.ReasonProgressingWithRetry), "%s", verdict.Message)
		conditions.MarkFalse(app, fluxmeta.ReadyCondition, verdict.Reason, "%s", verdict.Message)
	case fluxapp.Stalled:
		conditions.MarkStalled(app, verdict.Reason, "%s", verdict.Message)
		conditions.MarkFalse(app, fluxmeta.ReadyCondition, verdict.Reason, "%s", verdict.Message)
	}
}

// patchOptions move status.observedGeneration only when the status speaks of
// the present generation for good: Ready or Stalled.
func patchOptions(app *fluxappv1.FluxApp) []patch.Option {
	return rreconcile.AddPatchOptions(app, nil, ownedConditions, StatusManager)
}

// retryable returns the failure if it is to be tried again.
func retryable(failure error) error {
	if isStalled(failure) {
		return nil
	}
	return failure
}
