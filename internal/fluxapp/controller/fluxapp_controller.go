// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	fluxcontroller "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/patch"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubeevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp"
	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

// +kubebuilder:rbac:groups=apps.kloudy.uk,resources=fluxapps,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=apps.kloudy.uk,resources=fluxapps/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=apps.kloudy.uk,resources=fluxapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=image.toolkit.fluxcd.io,resources=imagerepositories;imagepolicies,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmrepositories,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconciler brings the Flux objects of a FluxApp into line with its spec.
type Reconciler struct {
	client    client.Client
	live      client.Reader
	keeper    *owned.Keeper
	watches   *watches
	recorder  kubeevents.AnnotatedEventRecorder
	announced *announcements
	metrics   fluxcontroller.Metrics
}

// scope is one reconciliation.
type scope struct {
	// app is the FluxApp; its status is written to as the steps find things out.
	app *fluxappv1.FluxApp
	// before is the FluxApp as it was read.
	before  *fluxappv1.FluxApp
	patcher *patch.SerialPatcher
	// intent is set by parse, and completed by login.
	intent fluxapp.Intent
	// observed and strays are set by observe: the objects that are needed, and
	// those of ours that are not.
	observed fluxapp.Objects
	strays   []owned.Ref
	// outcome is set by apply.
	outcome owned.Outcome
}

// Reconcile is called whenever a FluxApp, or one of its objects, changed. It
// asks nothing of the API server if all is as it was.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	start := time.Now()
	app := &fluxappv1.FluxApp{}
	if err := r.client.Get(ctx, request.NamespacedName, app); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.metrics.MetricsRecorder != nil {
		defer func() { r.metrics.RecordDuration(ctx, app, start) }()
	}
	s := &scope{app: app, before: app.DeepCopy(), patcher: patch.NewSerialPatcher(app, r.client)}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, s)
	}
	if controllerutil.AddFinalizer(app, fluxappv1.FluxAppFinalizer) {
		// Before anything exists that would have to be removed.
		if err := s.patcher.Patch(ctx, app, patch.WithFieldOwner(StatusManager)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if app.Spec.Suspend {
		return ctrl.Result{}, r.suspend(ctx, s)
	}
	if err := r.record(ctx, s, r.advance(ctx, s)); err != nil {
		return ctrl.Result{}, err
	}
	return resultOf(app), nil
}

// advance takes the steps in their order and stops at the first that fails.
func (r *Reconciler) advance(ctx context.Context, s *scope) error {
	for _, step := range []func(context.Context, *scope) error{
		r.parse, r.login, r.observe, r.apply, r.prune, r.passOnRequest,
	} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// suspend lets the objects that exist know of it, and leaves the rest alone.
func (r *Reconciler) suspend(ctx context.Context, s *scope) error {
	for _, step := range []func(context.Context, *scope) error{
		r.parse, r.observe, r.loginAsBefore, r.applyExisting,
	} {
		if err := step(ctx, s); err != nil {
			if isStalled(err) {
				ctrl.LoggerFrom(ctx).Info("suspended object cannot be acted on", "cause", err.Error())
				return nil
			}
			return err
		}
	}
	ctrl.LoggerFrom(ctx).V(1).Info("reconciliation is suspended")
	return nil
}

// forget drops what is remembered of a FluxApp that is gone.
func (r *Reconciler) forget(key client.ObjectKey) {
	r.keeper.Forget(key)
	r.announced.forget(key)
}

// resultOf has a FluxApp whose credentials hang on a ServiceAccount looked at
// once an interval, jittered as Flux's are: ServiceAccounts are not watched.
func resultOf(app *fluxappv1.FluxApp) ctrl.Result {
	if app.Spec.ServiceAccountName == "" {
		return ctrl.Result{}
	}
	return jitter.JitteredRequeueInterval(ctrl.Result{RequeueAfter: app.GetInterval().Duration})
}
