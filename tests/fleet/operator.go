// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operator stands in for the controller of the rollouts: it writes the status that
// each one's spec asks for, when it is time.
type operator struct {
	client    client.Client
	namespace string
	cancel    context.CancelFunc
	done      chan struct{}
	working   sync.WaitGroup // rollouts on their way

	mu   sync.Mutex
	held map[string]chan struct{} // by node; closed when released
}

// startOperator works on the rollouts of a namespace until ctx is over or close.
func startOperator(ctx context.Context, c client.WithWatch, namespace string) *operator {
	ctx, cancel := context.WithCancel(ctx)
	o := &operator{
		client: c, namespace: namespace,
		cancel: cancel, done: make(chan struct{}), held: map[string]chan struct{}{},
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(rolloutGVK)
	go func() {
		defer close(o.done)
		err := watchEach(ctx, c, scope{list: list, namespace: namespace}, func(event watch.EventType, object client.Object) bool {
			o.see(ctx, event, object)
			return false
		})
		if ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "testfleet: nobody brings up the workloads of %q any more: %v\n", namespace, err)
		}
	}()
	return o
}

func (o *operator) close() {
	o.cancel()
	<-o.done
	o.working.Wait()
}

// see acts on a rollout that has changed.
func (o *operator) see(ctx context.Context, event watch.EventType, object client.Object) {
	rollout, ok := object.(*unstructured.Unstructured)
	if !ok || event == watch.Deleted {
		return
	}
	observed, _, _ := unstructured.NestedInt64(rollout.Object, "status", "observedGeneration")
	if observed == rollout.GetGeneration() {
		return
	}
	o.working.Go(func() { o.bringUp(ctx, rollout) })
}

// bringUp writes the status of one generation when it is time.
func (o *operator) bringUp(ctx context.Context, rollout *unstructured.Unstructured) {
	delay, _, _ := unstructured.NestedString(rollout.Object, "spec", "delay")
	if duration, err := time.ParseDuration(delay); err == nil {
		pause(ctx, duration)
	}
	if held, _, _ := unstructured.NestedBool(rollout.Object, "spec", "held"); held {
		o.awaitRelease(ctx, rollout.GetName())
	}
	if ctx.Err() != nil {
		return
	}
	if err := o.writeStatus(ctx, rollout); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "testfleet: failed to write status of rollout \"%s/%s\": %v\n", o.namespace, rollout.GetName(), err)
	}
}

func (o *operator) writeStatus(ctx context.Context, rollout *unstructured.Unstructured) error {
	return retry.OnError(retry.DefaultBackoff, func(error) bool { return ctx.Err() == nil }, func() error {
		current := rollout.DeepCopy()
		if err := o.client.Get(ctx, client.ObjectKeyFromObject(rollout), current); err != nil {
			return client.IgnoreNotFound(err)
		}
		if current.GetGeneration() != rollout.GetGeneration() {
			return nil // a newer one is on its way
		}
		fail, _, _ := unstructured.NestedBool(current.Object, "spec", "fail")
		current.Object["status"] = map[string]any{
			"observedGeneration": current.GetGeneration(),
			"conditions":         conditions(current.GetGeneration(), fail),
		}
		return client.IgnoreNotFound(o.client.Status().Update(ctx, current))
	})
}

// conditions are what kstatus reads as Current or as Failed.
func conditions(generation int64, failed bool) []any {
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) any {
		return map[string]any{
			"type": kind, "status": string(status), "reason": reason, "message": message,
			"observedGeneration": generation, "lastTransitionTime": now,
		}
	}
	if failed {
		const reason, message = "CrashLoop", "the workload does not come up"
		return []any{
			condition("Ready", metav1.ConditionFalse, reason, message),
			condition("Stalled", metav1.ConditionTrue, reason, message),
		}
	}
	return []any{condition("Ready", metav1.ConditionTrue, "Up", "the workload is up")}
}

// Hold keeps the releases of a node that are pushed from now on from coming up (or
// failing), until Release.
func (f *Fleet) Hold(node string) {
	f.operator.mu.Lock()
	defer f.operator.mu.Unlock()
	if f.operator.held[node] == nil {
		f.operator.held[node] = make(chan struct{})
	}
}

// Release lets the workload of a node come up.
func (f *Fleet) Release(node string) {
	f.operator.mu.Lock()
	defer f.operator.mu.Unlock()
	if held := f.operator.held[node]; held != nil {
		close(held)
		delete(f.operator.held, node)
	}
}

func (o *operator) isHeld(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held[name] != nil
}

func (o *operator) awaitRelease(ctx context.Context, name string) {
	o.mu.Lock()
	held := o.held[name]
	o.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-ctx.Done():
	}
}

// pause lets time pass: the time that a workload takes.
func pause(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
