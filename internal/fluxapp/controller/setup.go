// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	fluxcontroller "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/predicates"
	"github.com/fluxcd/pkg/ssa"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

const (
	// ControllerName names the controller in logs, metrics and events.
	ControllerName = "fluxapp-controller"

	// ApplyManager is the field manager of the applied objects.
	ApplyManager = ControllerName

	// StatusManager is the field manager of the FluxApp's status and finalizer.
	StatusManager = "gotk-" + ControllerName
)

// Options are what the controller needs from the manager's owner.
type Options struct {
	// EventRecorder gets the events, from a queue: a slow one delays no
	// reconciliation. Nil means that none are emitted.
	EventRecorder events.Recorder
	// Metrics records Flux's gotk_* metrics; its zero value records none.
	Metrics fluxcontroller.Metrics
	// RateLimiter spaces retries. Nil means controller-runtime's default.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// MaxConcurrentReconciles defaults to 1.
	MaxConcurrentReconciles int
	// SkipNameValidation allows a second controller of this name in one
	// process, as tests need.
	SkipNameValidation bool
}

// SetupWithManager adds the FluxApp controller to a manager whose scheme knows
// the FluxApp, Helm, image and source APIs. Only the CRD of FluxApp has to be
// installed when the manager starts.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	recorder := options.EventRecorder
	if recorder == nil {
		recorder = events.NewNopRecorder()
	}
	queue := newEventQueue(recorder, mgr.GetLogger().WithName(ControllerName), eventQueueSize)
	if err := mgr.Add(queue); err != nil {
		return fmt.Errorf("failed to add event queue to the manager: %w", err)
	}
	reconciler := &Reconciler{
		client:    mgr.GetClient(),
		live:      mgr.GetAPIReader(),
		recorder:  queue,
		announced: newAnnouncements(),
		metrics:   options.Metrics,
		keeper: owned.NewKeeper(mgr.GetClient(), mgr.GetAPIReader(),
			ssa.Owner{Field: ApplyManager, Group: fluxappv1.GroupVersion.Group}),
	}
	built, err := ctrl.NewControllerManagedBy(mgr).
		Named(ControllerName).
		For(&fluxappv1.FluxApp{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{}))).
		WatchesMetadata(newCRD(), handler.EnqueueRequestsFromMapFunc(reconciler.requestsForCRD),
			builder.WithPredicates(predicate.NewPredicateFuncs(isChildCRD))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			RateLimiter:             options.RateLimiter,
			SkipNameValidation:      &options.SkipNameValidation,
		}).
		Build(reconciler)
	if err != nil {
		return fmt.Errorf("failed to set up controller %q: %w", ControllerName, err)
	}
	reconciler.watches = &watches{
		controller: built,
		cache:      mgr.GetCache(),
		mapper:     mgr.GetRESTMapper(),
		handler:    handler.EnqueueRequestsFromMapFunc(reconciler.requestsForChild),
		started:    map[schema.GroupVersionKind]bool{},
	}
	return nil
}

// requestsForChild finds the FluxApp that an object belongs to, or stands in
// the way of, by its name: they are the same.
func (r *Reconciler) requestsForChild(ctx context.Context, obj client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(obj)
	if err := r.client.Get(ctx, key, &fluxappv1.FluxApp{}); err != nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
}

// requestsForCRD finds the FluxApps that may have waited for a kind to be
// installed, or for its last objects to go with it.
func (r *Reconciler) requestsForCRD(ctx context.Context, _ client.Object) []reconcile.Request {
	var apps fluxappv1.FluxAppList
	if err := r.client.List(ctx, &apps); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to list FluxApps for a changed CRD")
		return nil
	}
	var requests []reconcile.Request
	for i := range apps.Items {
		app := &apps.Items[i]
		waiting := conditions.GetReason(app, fluxmeta.ReadyCondition) == string(fluxappv1.ReasonAPINotInstalled)
		if waiting || !app.DeletionTimestamp.IsZero() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		}
	}
	return requests
}

// newCRD is for reading the metadata of a CRD, from the cache of those alone.
func newCRD() *metav1.PartialObjectMetadata {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return crd
}

func isChildCRD(obj client.Object) bool {
	return slices.ContainsFunc(childKinds, func(k childKind) bool { return k.crdName() == obj.GetName() })
}
