// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/runtime/events"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

const (
	// defaultQueue holds the events of a rollout of thousands of sources.
	defaultQueue = 4096
	// maxFlush is how long a Delivery that is stopped goes on to deliver what
	// is queued.
	maxFlush = 5 * time.Second
	// retries of a post to notification-controller, after the first attempt.
	retries = 3
)

// Sink takes events. Send never blocks.
type Sink interface {
	Send(Event)
}

// DeliveryOptions configure a Delivery.
type DeliveryOptions struct {
	// Address of notification-controller's event endpoint (--events-addr);
	// empty for none.
	Address string
	// Namespace that stands for the (cluster-scoped) Wavefront in events to
	// notification-controller, which knows namespaced objects only: the
	// controller's own (RUNTIME_NAMESPACE).
	Namespace string
	// Objects reads the objects concerned from the cache, for their resource
	// version and event annotations; nil to go without.
	Objects client.Reader
	// Size bounds each queue; 0 stands for 4096 events.
	Size int
}

// Delivery sends events to the API server (events.k8s.io/v1) and to
// notification-controller, each from its own bounded queue, off the reconcile
// path: a slow receiver delays neither the other one nor an admission. It is a
// Runnable of the manager.
type Delivery struct {
	metrics   *Metrics
	log       logr.Logger
	objects   client.Reader
	namespace string
	outlets   []*outlet
}

// outlet is one receiver with its queue.
type outlet struct {
	recorder events.Recorder
	queue    chan Event
	// namespaced is set where the receiver refuses cluster-scoped objects.
	namespaced bool
}

// NewDelivery returns a Delivery; add it to the manager.
func NewDelivery(mgr ctrl.Manager, metrics *Metrics, opts DeliveryOptions) (*Delivery, error) {
	log := mgr.GetLogger().WithName("events")
	d := newDelivery(metrics, log, opts)
	api, err := events.NewRecorder(d.failures(), "", wavefrontv1.FieldManager,
		events.WithManager(mgr), events.WithEventsAPI(events.EventsAPIEventsV1))
	if err != nil {
		return nil, fmt.Errorf("failed to create event recorder: %w", err)
	}
	d.add(api, false, opts.Size)
	if opts.Address == "" {
		return d, nil
	}
	if opts.Namespace == "" {
		return nil, errors.New("failed to create event recorder: the namespace of the controller is not known (RUNTIME_NAMESPACE)")
	}
	hook, err := events.NewRecorder(d.failures(), opts.Address, wavefrontv1.FieldManager,
		events.WithScheme(mgr.GetScheme()), events.WithRetryMax(retries))
	if err != nil {
		return nil, fmt.Errorf("failed to create event recorder for %q: %w", opts.Address, err)
	}
	d.add(hook, true, opts.Size)
	return d, nil
}

func newDelivery(metrics *Metrics, log logr.Logger, opts DeliveryOptions) *Delivery {
	return &Delivery{metrics: metrics, log: log, objects: opts.Objects, namespace: opts.Namespace}
}

func (d *Delivery) add(recorder events.Recorder, namespaced bool, size int) {
	if size <= 0 {
		size = defaultQueue
	}
	d.outlets = append(d.outlets, &outlet{
		recorder: recorder, namespaced: namespaced, queue: make(chan Event, size),
	})
}

// Send queues the event; where a queue is full the event is dropped and counted.
func (d *Delivery) Send(e Event) {
	for _, o := range d.outlets {
		select {
		case o.queue <- e:
		default:
			d.metrics.drop(1)
		}
	}
}

// Start delivers until the context ends, and then for a few seconds more what is
// queued. What is left is counted as dropped.
func (d *Delivery) Start(ctx context.Context) error {
	flushed, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(maxFlush, cancel) })
	defer stop()

	var workers sync.WaitGroup
	for _, o := range d.outlets {
		workers.Go(func() { d.work(ctx, flushed, o) })
	}
	workers.Wait()
	return nil
}

// work delivers what comes until ctx ends, and then what is there until flushed
// ends.
func (d *Delivery) work(ctx, flushed context.Context, o *outlet) {
	for {
		select {
		case e := <-o.queue:
			d.deliver(flushed, o, e)
			continue
		case <-ctx.Done():
		}
		for flushed.Err() == nil && len(o.queue) > 0 {
			d.deliver(flushed, o, <-o.queue)
		}
		d.metrics.drop(len(o.queue))
		return
	}
}

// NeedLeaderElection is true: only the leader has something to tell.
func (d *Delivery) NeedLeaderElection() bool { return true }

// deliver hands one event to a recorder, which reports failures to its log only.
func (d *Delivery) deliver(ctx context.Context, o *outlet, e Event) {
	annotations := e.Annotations()
	regarding, related := e.Regarding, e.Related
	d.complete(ctx, &regarding, annotations)
	d.complete(ctx, &related, nil)
	if o.namespaced {
		d.place(&regarding)
		d.place(&related)
	}
	if e.Related == (corev1.ObjectReference{}) {
		o.recorder.AnnotatedEventf(&regarding, nil, annotations, e.Type, string(e.Reason), string(e.Action), "%s", e.Note)
		return
	}
	o.recorder.AnnotatedEventf(&regarding, &related, annotations, e.Type, string(e.Reason), string(e.Action), "%s", e.Note)
}

// place gives a cluster-scoped object the controller's namespace.
func (d *Delivery) place(ref *corev1.ObjectReference) {
	if ref.Kind != "" && ref.Namespace == "" {
		ref.Namespace = d.namespace
	}
}
