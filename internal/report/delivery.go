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
	"k8s.io/apimachinery/pkg/runtime"
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
	// retries of a delivery, after the first attempt.
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

// sender delivers one event. What it can't deliver it reports to the log of failures.
type sender func(ctx context.Context, e Event, annotations map[string]string)

// outlet is one receiver with its queue.
type outlet struct {
	send  sender
	queue chan Event
	// workers is how many events are on their way at once.
	workers int
}

// NewDelivery returns a Delivery; add it to the manager.
func NewDelivery(mgr ctrl.Manager, metrics *Metrics, opts DeliveryOptions) (*Delivery, error) {
	log := mgr.GetLogger().WithName("events")
	d := newDelivery(metrics, log, opts)
	api, err := newAPIWriter(mgr.GetConfig(), mgr.GetHTTPClient(), d.failures())
	if err != nil {
		return nil, err
	}
	d.add(api.send, apiWorkers, opts.Size)
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
	d.add(d.hook(hook), 1, opts.Size)
	return d, nil
}

func newDelivery(metrics *Metrics, log logr.Logger, opts DeliveryOptions) *Delivery {
	return &Delivery{metrics: metrics, log: log, objects: opts.Objects, namespace: opts.Namespace}
}

func (d *Delivery) add(send sender, workers, size int) {
	if size <= 0 {
		size = defaultQueue
	}
	d.outlets = append(d.outlets, &outlet{send: send, workers: workers, queue: make(chan Event, size)})
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
		for range o.workers {
			workers.Go(func() { d.work(ctx, flushed, o) })
		}
	}
	workers.Wait()
	for _, o := range d.outlets {
		d.metrics.drop(len(o.queue))
	}
	return nil
}

// work delivers what comes until ctx ends, and then what is there until flushed
// ends.
func (d *Delivery) work(ctx, flushed context.Context, o *outlet) {
	for flushed.Err() == nil {
		select {
		case e := <-o.queue:
			d.deliver(flushed, o, e)
			continue
		default:
		}
		select {
		case e := <-o.queue:
			d.deliver(flushed, o, e)
		case <-ctx.Done():
			return
		}
	}
}

// NeedLeaderElection is true: only the leader has something to tell.
func (d *Delivery) NeedLeaderElection() bool { return true }

// deliver sends one event, with what the cache knows of its objects.
func (d *Delivery) deliver(ctx context.Context, o *outlet, e Event) {
	annotations := e.Annotations()
	d.complete(ctx, &e.Regarding, annotations)
	d.complete(ctx, &e.Related, nil)
	o.send(ctx, e, annotations)
}

// hook sends to notification-controller by a recorder of Flux, which reports failures
// to its log only.
func (d *Delivery) hook(recorder events.Recorder) sender {
	return func(_ context.Context, e Event, annotations map[string]string) {
		var related runtime.Object
		if e.Related != (corev1.ObjectReference{}) {
			d.place(&e.Related)
			related = &e.Related
		}
		d.place(&e.Regarding)
		recorder.AnnotatedEventf(&e.Regarding, related, annotations, e.Type, string(e.Reason), string(e.Action), "%s", e.Note)
	}
}

// place gives a cluster-scoped object the controller's namespace.
func (d *Delivery) place(ref *corev1.ObjectReference) {
	if ref.Namespace == "" {
		ref.Namespace = d.namespace
	}
}
