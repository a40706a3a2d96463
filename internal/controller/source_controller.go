// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

// A reaction that failed is tried again at once, then less and less often: the
// pin that it protects is missing meanwhile.
const (
	reactionRetryMin = 50 * time.Millisecond
	reactionRetryMax = 30 * time.Second
)

// SourceReconciler reacts to what happens to single pins, at once and outside of
// the order: it shares hand-pins, puts vanished pins back, gives declared commits
// up and keeps the record.
type SourceReconciler struct {
	Tracker *pin.Tracker
	Writer  *pin.Writer

	barrier *barrier
	ledger  *ledger
}

// Reconcile reacts to the newest version of one source.
func (r *SourceReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	g := r.Tracker.Lookup(req.NamespacedName)
	if g == nil {
		return ctrl.Result{}, nil
	}
	switch ready, err := r.barrier.Pass(ctx); {
	case err != nil:
		return ctrl.Result{}, err
	case !ready:
		return ctrl.Result{RequeueAfter: cacheRetry}, nil
	}
	source := cluster.Source(g)
	policy := r.ledger.policy(source.ID)
	if policy.Owner == "" && r.ledger.awaits(g.Annotations[wavefrontv1.OwnerAnnotation]) {
		// Its Wavefront's first pass changes the policy. Until then a pin that
		// vanished must not be given up.
		return ctrl.Result{}, nil
	}
	result := r.Writer.React(ctx, g, source, policy)
	switch result.Outcome {
	case pin.Failed:
		if ctx.Err() != nil { // the process is being stopped, which is nobody's failure
			return ctrl.Result{}, nil
		}
		r.ledger.record(policy.Owner, outcome(report.Failed, result))
		return ctrl.Result{}, result.Err
	case pin.NotLeader:
		return ctrl.Result{}, result.Err
	case pin.Stale, pin.Suspended:
		// What was suspended a moment ago may go on before any pass has seen it.
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	case pin.Written:
		if result.Changed() {
			r.ledger.record(policy.Owner, outcome(report.Restored, result))
		}
	case pin.Idle, pin.Held, pin.Gone:
	}
	return ctrl.Result{RequeueAfter: result.Judgement.Recheck}, nil
}

// sightings feeds the tracker from the informer of sources, event by event, and
// the queue with what it saw, and with sources that came under another policy.
type sightings struct {
	cache   cache.Cache
	tracker *pin.Tracker
	ledger  *ledger
}

// Start implements source.Source.
func (s *sightings) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	s.ledger.onPolicy(func(id fleet.ID) {
		q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: id.Namespace, Name: id.Name}})
	})
	informer, err := s.cache.GetInformer(ctx, &sourcev1.GitRepository{})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(s.tracker.Handler(func(key types.NamespacedName) {
		q.Add(ctrl.Request{NamespacedName: key})
	}))
	return err
}
