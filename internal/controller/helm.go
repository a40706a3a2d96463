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
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
)

// helmProbeInterval is how often Helm's kinds are looked for while they are not
// installed.
const helmProbeInterval = 30 * time.Second

// helm watches HelmReleases and HelmCharts where their CRDs are installed, now or
// later. A watch on a kind that does not exist would keep the manager from
// starting.
type helm struct {
	mapper     apimeta.RESTMapper
	cache      cache.Cache
	controller controller.Controller
	roster     *roster
	// watched: both kinds exist and are in the cache.
	watched atomic.Bool
	// probed: it is known whether they exist.
	probed atomic.Bool
}

func newHelm(mgr ctrl.Manager) *helm {
	return &helm{mapper: mgr.GetRESTMapper(), cache: mgr.GetCache()}
}

// follow sets the controller that is woken by events.
func (h *helm) follow(c controller.Controller, r *roster) { h.controller, h.roster = c, r }

// Start implements manager.Runnable: it ends once the kinds are watched.
func (h *helm) Start(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, helmProbeInterval, true, func(context.Context) (bool, error) {
		return h.probe()
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// probe starts the watches if both kinds exist.
func (h *helm) probe() (bool, error) {
	for _, gk := range []schema.GroupKind{
		{Group: helmv2.GroupVersion.Group, Kind: helmv2.HelmReleaseKind},
		{Group: sourcev1.GroupVersion.Group, Kind: sourcev1.HelmChartKind},
	} {
		version := helmv2.GroupVersion.Version
		if gk.Kind == sourcev1.HelmChartKind {
			version = sourcev1.GroupVersion.Version
		}
		if _, err := h.mapper.RESTMapping(gk, version); err != nil {
			// Not there, or the API server did not answer: it is asked again.
			if apimeta.IsNoMatchError(err) {
				h.probed.Store(true)
			}
			return false, nil
		}
	}
	for _, obj := range []client.Object{&helmv2.HelmRelease{}, &sourcev1.HelmChart{}} {
		if err := h.controller.Watch(source.Kind(h.cache, obj, h.roster.onAnyEvent())); err != nil {
			return false, fmt.Errorf("failed to watch %T: %w", obj, err)
		}
	}
	h.watched.Store(true)
	h.probed.Store(true)
	return true, nil
}

// reader lists Helm's kinds from the cache once they are watched, and says that
// they are not installed until then: each attempt to list an unknown kind would
// ask the API server for it anew.
func (h *helm) reader(c client.Reader) client.Reader { return &helmReader{Reader: c, helm: h} }

type helmReader struct {
	client.Reader
	helm *helm
}

// List implements client.Reader.
func (r *helmReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if !r.helm.watched.Load() {
		switch list.(type) {
		case *helmv2.HelmReleaseList:
			return &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: helmv2.GroupVersion.Group, Kind: helmv2.HelmReleaseKind}}
		case *sourcev1.HelmChartList:
			return &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: sourcev1.GroupVersion.Group, Kind: sourcev1.HelmChartKind}}
		}
	}
	return r.Reader.List(ctx, list, opts...)
}
