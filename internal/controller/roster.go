// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
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

// roster knows the Wavefronts of the process by name, so that an event need not
// list them (their statuses are large).
type roster struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func (r *roster) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]struct{}{}
	}
	r.names[name] = struct{}{}
}

func (r *roster) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names, name)
}

func (r *roster) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.names))
	for name := range r.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// queue is what events are turned into passes by.
type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// enqueueAll asks for a pass of every Wavefront.
func (r *roster) enqueueAll(q queue) {
	for _, name := range r.list() {
		q.AddAfter(ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}, batchWindow)
	}
}

// onAnyEvent turns each event of a watched object into a pass of every
// Wavefront: what an object means for which fleet is for the rules to say.
func (r *roster) onAnyEvent() handler.EventHandler {
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { r.enqueueAll(q) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { r.enqueueAll(q) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { r.enqueueAll(q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if changed(e.ObjectOld, e.ObjectNew) {
				r.enqueueAll(q)
			}
		},
	}
}

// changed filters the resyncs of informers.
func changed(before, after client.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

// news turns what the observer announces into passes.
type news struct {
	observer *refs.Observer
	roster   *roster
}

// Start implements source.Source: it forwards until ctx is done.
func (n *news) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-n.observer.Updates():
				n.roster.enqueueAll(q)
			}
		}
	}()
	return nil
}

var _ source.Source = &news{}
