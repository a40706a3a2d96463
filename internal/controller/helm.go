// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
)

const (
	// helmProbeInterval is how often Helm's kinds are looked for while they are
	// not installed.
	helmProbeInterval = 10 * time.Second

	// helmProbeRetry is how soon they are looked for again where the API server
	// did not answer: nothing is judged before it has.
	helmProbeRetry = time.Second

	// helmSyncTimeout is how long a pass waits for the first list of Helm's
	// kinds before it fails and says so.
	helmSyncTimeout = 10 * time.Second
)

// helmKinds are the kinds that need not be installed.
var helmKinds = []struct {
	schema.GroupVersionKind
	empty func() client.Object
}{
	{helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind), func() client.Object { return &helmv2.HelmRelease{} }},
	{sourcev1.GroupVersion.WithKind(sourcev1.HelmChartKind), func() client.Object { return &sourcev1.HelmChart{} }},
}

// helm watches HelmReleases and HelmCharts where their CRDs are installed, now or
// later. A watch on a kind that does not exist would keep the manager from
// starting.
type helm struct {
	mapper     apimeta.RESTMapper
	cache      cache.Cache
	clock      clock.Clock
	controller watcher
	roster     *roster
	// watched: both kinds exist and are in the cache.
	watched atomic.Bool
	// probed: it is known whether they exist.
	probed atomic.Bool
}

// watcher starts watches.
type watcher interface {
	Watch(source.TypedSource[ctrl.Request]) error
}

func newHelm(mgr ctrl.Manager) *helm {
	return &helm{mapper: mgr.GetRESTMapper(), cache: mgr.GetCache(), clock: clock.RealClock{}}
}

// follow sets the controller that is woken by events.
func (h *helm) follow(c controller.Controller, r *roster) { h.controller, h.roster = c, r }

// Start implements manager.Runnable: it ends once the kinds are watched.
func (h *helm) Start(ctx context.Context) error {
	for {
		if done, err := h.probe(ctx); done || err != nil {
			return err
		}
		interval := helmProbeInterval
		if !h.probed.Load() {
			interval = helmProbeRetry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.clock.After(interval):
		}
	}
}

// probe starts the watches if both kinds exist.
func (h *helm) probe(ctx context.Context) (bool, error) {
	for _, kind := range helmKinds {
		switch _, err := h.mapper.RESTMapping(kind.GroupKind(), kind.Version); {
		case apimeta.IsNoMatchError(err):
			h.probed.Store(true)
			return false, nil
		case err != nil:
			ctrl.LoggerFrom(ctx).Error(err, "failed to find out whether a kind is installed", "kind", kind.Kind)
			return false, nil
		}
	}
	for _, kind := range helmKinds {
		if err := h.controller.Watch(source.Kind(h.cache, kind.empty(), h.roster.onAnyEvent())); err != nil {
			return false, fmt.Errorf("failed to watch %s objects: %w", kind.Kind, err)
		}
	}
	h.watched.Store(true)
	h.probed.Store(true)
	return true, nil
}

// reader reads Helm's kinds once they are watched, and says that they are not
// installed until then: each attempt to list an unknown kind would ask the API
// server for it anew.
func (h *helm) reader(c client.Reader) client.Reader { return &helmReader{Reader: c, helm: h} }

type helmReader struct {
	client.Reader
	helm *helm
}

// List implements client.Reader.
func (r *helmReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind, is := helmKindOf(list)
	if !is {
		return r.Reader.List(ctx, list, opts...)
	}
	if !r.helm.watched.Load() {
		return &apimeta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	// The first list of a cache may never come, for want of a permission.
	ctx, cancel := context.WithTimeout(ctx, helmSyncTimeout)
	defer cancel()
	return r.Reader.List(ctx, list, opts...)
}

// helmKindOf tells whether a list is one of Helm's kinds, and of which.
func helmKindOf(list client.ObjectList) (schema.GroupVersionKind, bool) {
	switch list.(type) {
	case *helmv2.HelmReleaseList:
		return helmKinds[0].GroupVersionKind, true
	case *sourcev1.HelmChartList:
		return helmKinds[1].GroupVersionKind, true
	}
	return schema.GroupVersionKind{}, false
}
