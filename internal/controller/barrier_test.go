// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// stale is a cache that shows some objects as they were, or not at all.
type stale struct {
	client.Reader
	shows map[string]client.Object
}

func (s *stale) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	old, is := s.shows[key.Name]
	switch {
	case !is:
		return s.Reader.Get(ctx, key, obj, opts...)
	case old == nil:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	obj.SetName(old.GetName())
	obj.SetUID(old.GetUID())
	obj.SetResourceVersion(old.GetResourceVersion())
	return nil
}

// down fails to list.
type down struct{ client.Reader }

var errDown = errors.New("connection refused")

func (down) List(context.Context, client.ObjectList, ...client.ListOption) error { return errDown }

func TestBarrier(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (*rig, *barrier, *stale) {
		r := newRig(t, aWavefront("fleet", wavefrontv1.ModeEnforce), aNode("app", "fleet", shaA), aSource("app", shaA))
		r.see()
		cached := &stale{Reader: r, shows: map[string]client.Object{}}
		b := &barrier{live: r, cached: cached, tracker: r.sources.Tracker, helm: &helm{}}
		b.helm.probed.Store(true)
		return r, b, cached
	}
	tests := []struct {
		name string
		// hinder gets in the way, and returns what takes it away again.
		hinder  func(*rig, *barrier, *stale) func()
		wantErr error
	}{
		{name: "nothing in the way", hinder: func(*rig, *barrier, *stale) func() { return nil }},
		{name: "nobody knows whether Helm is installed", hinder: func(_ *rig, b *barrier, _ *stale) func() {
			b.helm.probed.Store(false)
			return func() { b.helm.probed.Store(true) }
		}},
		{name: "the cache shows an older version", hinder: func(r *rig, _ *barrier, c *stale) func() {
			old := r.wavefront("fleet")
			r.edit(r.wavefront("fleet"), `{"metadata":{"labels":{"a":"b"}}}`)
			c.shows["fleet"] = old
			return func() { delete(c.shows, "fleet") }
		}},
		{name: "the cache does not show a node yet", hinder: func(_ *rig, _ *barrier, c *stale) func() {
			c.shows["app"] = nil
			return func() { delete(c.shows, "app") }
		}},
		{name: "the tracker is behind the cache", hinder: func(r *rig, _ *barrier, _ *stale) func() {
			r.edit(r.source("app"), `{"metadata":{"labels":{"a":"b"}}}`)
			return func() { r.see() }
		}},
		{name: "the API server does not answer", hinder: func(r *rig, b *barrier, _ *stale) func() {
			b.live = down{r}
			return func() { b.live = r }
		}, wantErr: errDown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, b, cached := setup(t)
			if clear := tt.hinder(r, b, cached); clear != nil {
				ready, err := b.Pass(t.Context())
				r.Expect(ready).To(BeFalse())
				if tt.wantErr == nil {
					r.Expect(err).NotTo(HaveOccurred())
				} else {
					r.Expect(err).To(MatchError(tt.wantErr))
				}
				clear()
			}
			r.Expect(b.Pass(t.Context())).To(BeTrue())
			b.live = down{r}
			r.Expect(b.Pass(t.Context())).To(BeTrue(), "once open, it stays so")
		})
	}
}

// TestBarrierDeleted: what was deleted since the consistent list is not waited for.
func TestBarrierDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, aSource("app", shaA), aSource("other", shaA))
	b := &barrier{live: r, cached: &stale{Reader: r}, tracker: r.sources.Tracker, helm: &helm{}}
	b.helm.probed.Store(true)
	r.Expect(b.Pass(t.Context())).To(BeFalse(), "no event has come")
	r.Expect(r.Delete(t.Context(), aSource("app", shaA))).To(Succeed())
	r.see()
	r.Expect(b.Pass(t.Context())).To(BeTrue())
}

// TestBarrierHolds: neither reconciler does anything before it is open.
func TestBarrierHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t, aWavefront("fleet", wavefrontv1.ModeEnforce), aNode("app", "fleet", shaA), aSource("app", shaA))
	b := &barrier{live: r, cached: r, tracker: r.sources.Tracker, helm: &helm{}}
	r.wavefronts.barrier, r.sources.barrier = b, b
	result, err := r.pass("fleet")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result.RequeueAfter).To(Equal(cacheRetry))
	result, err = r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result.RequeueAfter).To(Equal(cacheRetry))
	r.Expect(r.writes).To(BeEmpty())

	b.helm.probed.Store(true)
	r.mustPass("fleet")
	r.Expect(r.source("app").Spec.Reference).To(HaveField("Commit", shaA))
}
