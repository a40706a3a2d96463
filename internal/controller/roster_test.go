// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// delayed is a queue that notes what is added to it after how long.
type delayed struct {
	queue
	added map[string]time.Duration
}

func (d *delayed) AddAfter(r ctrl.Request, after time.Duration) { d.added[r.Name] = after }

func request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}
}

func TestRosterEvents(t *testing.T) {
	t.Parallel()
	before, after := aSource("repo", shaA), aSource("repo", shaA)
	before.ResourceVersion, after.ResourceVersion = "1", "2"
	all := map[string]time.Duration{"a": batchWindow, "b": batchWindow}
	tests := []struct {
		name  string
		event func(context.Context, *roster, queue)
		want  map[string]time.Duration
	}{
		{"created", func(ctx context.Context, r *roster, q queue) {
			r.onAnyEvent().Create(ctx, event.CreateEvent{Object: after}, q)
		}, all},
		{"deleted", func(ctx context.Context, r *roster, q queue) {
			r.onAnyEvent().Delete(ctx, event.DeleteEvent{Object: after}, q)
		}, all},
		{"generic", func(ctx context.Context, r *roster, q queue) {
			r.onAnyEvent().Generic(ctx, event.GenericEvent{Object: after}, q)
		}, all},
		{"changed", func(ctx context.Context, r *roster, q queue) {
			r.onAnyEvent().Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		}, all},
		{"resynced", func(ctx context.Context, r *roster, q queue) {
			r.onAnyEvent().Update(ctx, event.UpdateEvent{ObjectOld: after, ObjectNew: client.Object(after)}, q)
		}, map[string]time.Duration{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, q := newRoster(), &delayed{added: map[string]time.Duration{}}
			for _, name := range []string{"a", "b", "gone"} {
				r.add(name, time.Minute)
			}
			r.remove("gone")
			tt.event(t.Context(), r, q)
			g.Expect(q.added).To(Equal(tt.want))
		})
	}
}

// TestImpatience: a Wavefront whose passes fail is not left alone for longer than
// its poll interval.
func TestImpatience(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRoster()
	r.add("fleet", 10*time.Second)
	l := r.impatient(workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, time.Hour))
	var waits []time.Duration
	for range 6 {
		waits = append(waits, l.When(request("fleet")))
	}
	g.Expect(waits).To(Equal([]time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second,
	}))
	l.Forget(request("fleet"))
	g.Expect(l.When(request("fleet"))).To(Equal(time.Second))
	for range 6 {
		l.When(request("unknown"))
	}
	g.Expect(l.When(request("unknown"))).To(Equal(64*time.Second), "nothing bounds one that is not known")
}

func TestSoonest(t *testing.T) {
	t.Parallel()
	tests := []struct{ a, b, want time.Duration }{
		{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {2, 1, 1}, {1, 2, 1},
	}
	for _, tt := range tests {
		NewWithT(t).Expect(soonest(tt.a, tt.b)).To(Equal(tt.want))
	}
}
