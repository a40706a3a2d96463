// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/isometry/wavefront-controller/internal/refs"
)

// batchWindow is how long events are gathered before a pass. A pass looks at the
// whole fleet, and Flux touches every object of it at every interval.
const batchWindow = 100 * time.Millisecond

// roster knows the Wavefronts of the process by name, with their poll intervals,
// so that an event need not list them (their statuses are large).
type roster struct {
	mu        sync.Mutex
	intervals map[string]time.Duration
}

func newRoster() *roster { return &roster{intervals: map[string]time.Duration{}} }

func (r *roster) add(name string, interval time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.intervals[name] = interval
}

func (r *roster) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.intervals, name)
}

func (r *roster) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.intervals))
}

// interval of a Wavefront; zero if it is not known.
func (r *roster) interval(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.intervals[name]
}

// queue is what events are turned into passes by.
type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// enqueue asks for a pass of some Wavefronts.
func enqueue(q queue, names ...string) {
	for _, name := range names {
		q.AddAfter(ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}, batchWindow)
	}
}

// onAnyEvent turns each event of a watched object into a pass of every
// Wavefront: what an object means for which fleet is for the rules to say.
func (r *roster) onAnyEvent() handler.EventHandler {
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { enqueue(q, r.list()...) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { enqueue(q, r.list()...) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { enqueue(q, r.list()...) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if changed(e.ObjectOld, e.ObjectNew) {
				enqueue(q, r.list()...)
			}
		},
	}
}

// changed filters the resyncs of informers.
func changed(before, after client.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

// impatient bounds how long a Wavefront whose passes fail is left alone by its
// poll interval: when the API server is back, nothing else may happen for hours
// that would wake it.
func (r *roster) impatient(limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimiter[ctrl.Request] {
	return &impatient{TypedRateLimiter: limiter, roster: r}
}

type impatient struct {
	workqueue.TypedRateLimiter[ctrl.Request]
	roster *roster
}

// When implements workqueue.TypedRateLimiter.
func (l *impatient) When(request ctrl.Request) time.Duration {
	wait := l.TypedRateLimiter.When(request)
	if interval := l.roster.interval(request.Name); interval > 0 {
		return min(wait, interval)
	}
	return wait
}

// news turns what the observer announces, and what became of reactions, into
// passes.
type news struct {
	observer *refs.Observer
	ledger   *ledger
	roster   *roster
}

// Start implements source.Source: it forwards until ctx is done.
func (n *news) Start(ctx context.Context, q queue) error {
	n.ledger.onOutcome(func(wavefront string) { enqueue(q, wavefront) })
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case update := <-n.observer.Updates():
				enqueue(q, update.Wavefronts...)
			}
		}
	}()
	return nil
}

var _ source.Source = &news{}
