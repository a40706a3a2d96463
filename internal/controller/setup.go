// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/predicates"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/report"
)

// What the controllers of this package may do. The role is generated from these
// lines; a test shows that nothing is missing and nothing unused.
//
// +kubebuilder:rbac:groups=wavefront.as-code.io,resources=wavefronts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=wavefront.as-code.io,resources=wavefronts/status,verbs=patch
// +kubebuilder:rbac:groups=kustomize.toolkit.fluxcd.io,resources=kustomizations,verbs=get;list;watch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=gitrepositories,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmcharts,verbs=get;list;watch
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets;serviceaccounts,verbs=get
// +kubebuilder:rbac:groups="",resources=serviceaccounts/token,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Options assemble the controllers of this package. All are required but
// Namespace and DeclarativeManagers.
type Options struct {
	// Clock of the process, shared with the Observer.
	Clock *refs.Clock
	// Observer of references; the manager runs it.
	Observer *refs.Observer
	// Reporter publishes passes.
	Reporter *report.Reporter
	// Metrics records Flux's gotk_* metrics.
	Metrics runtimectrl.Metrics
	// Lease returns an error unless this process provably leads.
	Lease func() error
	// DeclarativeManagers are the field managers that render what Git says.
	DeclarativeManagers []string
	// NoCrossNamespaceRefs is Flux's flag of that name.
	NoCrossNamespaceRefs bool
	// Namespace is the only one that is watched; empty means all.
	Namespace string
	// Shard selects the Wavefronts that this process reconciles. It sees the
	// others too: they may claim the same sources.
	Shard labels.Selector
	// RateLimiter spaces retries of one Wavefront, up to its poll interval.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// Concurrent is how many objects of one kind are reconciled at once.
	Concurrent int
}

// SetupWithManager registers the Wavefront and the source reconcilers.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	tracker := pin.NewTracker(o.Clock.Now, o.Clock.Time)
	judge := pin.Judge{Declarative: o.DeclarativeManagers}
	helm := newHelm(mgr)
	// What is not installed is not asked for, past the cache either.
	live := helm.reader(mgr.GetAPIReader())
	writer := &pin.Writer{
		Client: mgr.GetClient(), Live: live, Lease: o.Lease,
		Tracker: tracker, Judge: judge, Now: o.Clock.Now, Clock: o.Clock.Time,
	}
	shared := &barrier{live: live, cached: mgr.GetClient(), tracker: tracker, helm: helm, namespace: o.Namespace}
	book := newLedger()

	wavefronts := &WavefrontReconciler{
		Client: mgr.GetClient(), Metrics: o.Metrics, Live: live,
		Reader: &cluster.Reader{
			Client: helm.reader(mgr.GetClient()), NoCrossNamespaceRefs: o.NoCrossNamespaceRefs, Newer: tracker.Newest,
		},
		Clock: o.Clock, Observer: o.Observer, Tracker: tracker, Virtual: pin.NewVirtual(o.Clock.Now),
		Judge: judge, Writer: writer, Reporter: o.Reporter, Shard: o.Shard, Lease: o.Lease,
		barrier: shared, roster: newRoster(), ledger: book,
	}
	c, err := wavefronts.setup(mgr, o)
	if err != nil {
		return fmt.Errorf("failed to set up the Wavefront controller: %w", err)
	}
	helm.follow(c, wavefronts.roster)
	if err := mgr.Add(helm); err != nil {
		return fmt.Errorf("failed to set up the watch of Helm's kinds: %w", err)
	}
	sources := &SourceReconciler{Tracker: tracker, Writer: writer, barrier: shared, ledger: book}
	if err := sources.setup(mgr, o); err != nil {
		return fmt.Errorf("failed to set up the source controller: %w", err)
	}
	return nil
}

// setup registers the Wavefront reconciler with everything that a pass looks at.
func (r *WavefrontReconciler) setup(mgr ctrl.Manager, o Options) (controller.Controller, error) {
	own := predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{},
		predicate.LabelChangedPredicate{}) // of the shard
	return ctrl.NewControllerManagedBy(mgr).
		For(&wavefrontv1.Wavefront{}, builder.WithPredicates(own)).
		// What one Wavefront selects concerns the others.
		Watches(&wavefrontv1.Wavefront{}, r.roster.onAnyEvent(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kustomizev1.Kustomization{}, r.roster.onAnyEvent()).
		Watches(&sourcev1.GitRepository{}, r.roster.onAnyEvent()).
		WatchesRawSource(&news{observer: o.Observer, ledger: r.ledger, roster: r.roster}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.Concurrent, RateLimiter: r.roster.impatient(o.RateLimiter),
		}).
		Build(r)
}

// setup registers the source reconciler.
func (r *SourceReconciler) setup(mgr ctrl.Manager, o Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("wavefront-source").
		WatchesRawSource(&sightings{cache: mgr.GetCache(), tracker: r.Tracker, ledger: r.ledger}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.Concurrent,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](reactionRetryMin, reactionRetryMax),
		}).
		Complete(r)
}
