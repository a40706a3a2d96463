// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/pin"
)

// barrier holds back every write of a fresh process until its cache has been
// compared with one consistent list: a cache that was filled by an API server
// that lags says what was, and a decision made from it would undo what the
// previous process did.
type barrier struct {
	// live reads from the API server, without a cache.
	live client.Reader
	// cached is what the decisions are made from.
	cached client.Reader
	// tracker is what is known of the sources' pins.
	tracker *pin.Tracker
	// helm knows whether Helm's kinds are installed: charts that nobody looked
	// for must not pass for charts that are not there.
	helm *helm
	// namespace restricts the comparison; empty means all.
	namespace string

	mu sync.Mutex
	// want is the consistent list, read once; nil before.
	want []listed
	open bool
}

// listed is one object of the consistent list.
type listed struct {
	gvk schema.GroupVersionKind
	key types.NamespacedName
	uid types.UID
	rv  string
}

// guarded are the kinds that decisions are made from.
func guarded() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind),
		sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind),
		wavefrontv1.GroupVersion.WithKind(wavefrontv1.WavefrontKind),
	}
}

// Pass tells whether the cache has caught up with the consistent list. Once it
// has, it stays so.
func (b *barrier) Pass(ctx context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return true, nil
	}
	if !b.helm.probed.Load() {
		return false, nil
	}
	if b.want == nil {
		if err := b.list(ctx); err != nil {
			return false, err
		}
	}
	for len(b.want) > 0 {
		reached, err := b.reached(ctx, b.want[0])
		if err != nil || !reached {
			return false, err
		}
		b.want = b.want[1:]
	}
	b.open = true
	return true, nil
}

// list reads all guarded kinds. Without a resource version the API server
// answers from a quorum.
func (b *barrier) list(ctx context.Context) error {
	want := make([]listed, 0, 64)
	for _, gvk := range guarded() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		var in []client.ListOption
		if gvk.Kind != wavefrontv1.WavefrontKind {
			in = append(in, client.InNamespace(b.namespace))
		}
		if err := b.live.List(ctx, list, in...); err != nil {
			return fmt.Errorf("failed to list %s objects: %w", gvk.Kind, err)
		}
		for _, o := range list.Items {
			want = append(want, listed{gvk: gvk, key: client.ObjectKeyFromObject(&o), uid: o.UID, rv: o.ResourceVersion})
		}
	}
	b.want = want
	return nil
}

// reached tells whether the cache holds the object at the listed version or a
// later one, or knows of its deletion since.
func (b *barrier) reached(ctx context.Context, l listed) (bool, error) {
	obj, err := newObject(l.gvk)
	if err != nil {
		return false, err
	}
	err = b.cached.Get(ctx, l.key, obj)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("failed to get %s %q: %w", l.gvk.Kind, l.key, err)
	case err != nil, obj.GetUID() != l.uid:
		// Gone from the cache: either it was deleted since the list, or the
		// cache has not seen it yet. Only the API server can tell.
		return b.gone(ctx, l)
	}
	if l.gvk.Kind != sourcev1.GitRepositoryKind {
		return l.reachedBy(obj)
	}
	tracked := b.tracker.Lookup(l.key)
	if tracked == nil {
		return false, nil
	}
	return l.reachedBy(tracked)
}

// reachedBy tells whether a version is the listed one or a later one.
func (l listed) reachedBy(obj client.Object) (bool, error) {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), l.rv)
	if err != nil {
		return false, fmt.Errorf("failed to compare versions of %s %q: %w", l.gvk.Kind, l.key, err)
	}
	return order >= 0, nil
}

// gone asks the API server whether the object has been deleted since.
func (b *barrier) gone(ctx context.Context, l listed) (bool, error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(l.gvk)
	err := b.live.Get(ctx, l.key, obj)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("failed to get %s %q: %w", l.gvk.Kind, l.key, err)
	}
	return err != nil || obj.UID != l.uid, nil
}

// newObject returns an empty typed object, so that the cache serves it from the
// informer that the decisions use.
func newObject(gvk schema.GroupVersionKind) (client.Object, error) {
	switch gvk.Kind {
	case kustomizev1.KustomizationKind:
		return &kustomizev1.Kustomization{}, nil
	case sourcev1.GitRepositoryKind:
		return &sourcev1.GitRepository{}, nil
	case wavefrontv1.WavefrontKind:
		return &wavefrontv1.Wavefront{}, nil
	}
	return nil, fmt.Errorf("failed to make an object of unknown kind %q", gvk.Kind)
}
