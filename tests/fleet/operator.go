// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operator stands in for the controller of the workloads: it writes the status that
// each one's spec asks for.
type operator struct {
	client    client.Client
	namespace string
	cancel    context.CancelFunc
	done      chan struct{}
	working   sync.WaitGroup // workloads on their way

	mu   sync.Mutex
	held map[string]chan struct{} // by workload; closed when released
}

// startOperator works on the workloads of a namespace until ctx is over or close.
func startOperator(ctx context.Context, c client.WithWatch, namespace string) *operator {
	ctx, cancel := context.WithCancel(ctx)
	o := &operator{
		client: c, namespace: namespace,
		cancel: cancel, done: make(chan struct{}), held: map[string]chan struct{}{},
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloadGVK)
	go func() {
		defer close(o.done)
		// Ends with ctx alone, which is no error here.
		_ = watchEach(ctx, c, scope{list: list, namespace: namespace}, func(event watch.EventType, object client.Object) bool {
			o.see(ctx, event, object)
			return false
		})
	}()
	return o
}

func (o *operator) close() {
	o.cancel()
	<-o.done
	o.working.Wait()
}

// see acts on a workload that has changed.
func (o *operator) see(ctx context.Context, event watch.EventType, object client.Object) {
	workload, ok := object.(*unstructured.Unstructured)
	if !ok || event == watch.Deleted {
		return
	}
	observed, _, _ := unstructured.NestedInt64(workload.Object, "status", "observedGeneration")
	if observed == workload.GetGeneration() {
		return
	}
	o.working.Go(func() { o.bringUp(ctx, workload) })
}

// bringUp writes the status of one generation when it is time.
func (o *operator) bringUp(ctx context.Context, workload *unstructured.Unstructured) {
	delay, _, _ := unstructured.NestedString(workload.Object, "spec", "delay")
	if wait, err := time.ParseDuration(delay); err == nil {
		pause(ctx, wait)
	}
	o.awaitRelease(ctx, workload.GetName())
	if ctx.Err() != nil {
		return
	}
	if err := o.writeStatus(ctx, workload); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "testfleet: failed to write status of workload \"%s/%s\": %v\n", o.namespace, workload.GetName(), err)
	}
}

func (o *operator) writeStatus(ctx context.Context, workload *unstructured.Unstructured) error {
	err := retry.OnError(retry.DefaultBackoff, func(error) bool { return ctx.Err() == nil }, func() error {
		current := workload.DeepCopy()
		if err := o.client.Get(ctx, client.ObjectKeyFromObject(workload), current); err != nil {
			return client.IgnoreNotFound(err)
		}
		if current.GetGeneration() != workload.GetGeneration() {
			return nil // a newer one is on its way
		}
		fail, _, _ := unstructured.NestedBool(current.Object, "spec", "fail")
		current.Object["status"] = map[string]any{
			"observedGeneration": current.GetGeneration(),
			"conditions":         conditions(current.GetGeneration(), fail),
		}
		return o.client.Status().Update(ctx, current)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// conditions are what kstatus reads as Current or as Failed.
func conditions(generation int64, failed bool) []any {
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind, status, reason, message string) any {
		return map[string]any{
			"type": kind, "status": status, "reason": reason, "message": message,
			"observedGeneration": generation, "lastTransitionTime": now,
		}
	}
	if failed {
		const reason, message = "CrashLoop", "the workload does not come up"
		return []any{
			condition("Ready", string(metav1.ConditionFalse), reason, message),
			condition("Stalled", string(metav1.ConditionTrue), reason, message),
		}
	}
	return []any{condition("Ready", string(metav1.ConditionTrue), "Up", "the workload is up")}
}

// Hold keeps the workload of a node from coming up (or failing) until Release: from the
// next change on, and those on their way.
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

// SetHealth makes a running workload of a node fail, or recover, without a commit.
func (f *Fleet) SetHealth(ctx context.Context, node string, healthy bool) error {
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(workloadGVK)
	key := client.ObjectKey{Namespace: f.namespace, Name: node}
	if err := f.env.Client().Get(ctx, key, workload); err != nil {
		return fmt.Errorf("failed to get workload %q: %w", key, err)
	}
	workload.Object["status"] = map[string]any{
		"observedGeneration": workload.GetGeneration(),
		"conditions":         conditions(workload.GetGeneration(), !healthy),
	}
	if err := f.env.Client().Status().Update(ctx, workload); err != nil {
		return fmt.Errorf("failed to set health of workload %q: %w", key, err)
	}
	return nil
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
