// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"sync"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// childKind is a kind of object that a FluxApp may keep.
type childKind struct {
	gvk      schema.GroupVersionKind
	resource string
	empty    func() client.Object
}

// childKinds are in the order in which a chart version travels, which is the
// order of applying.
var childKinds = []childKind{
	{imagev1.GroupVersion.WithKind(imagev1.ImageRepositoryKind), "imagerepositories", func() client.Object { return &imagev1.ImageRepository{} }},
	{imagev1.GroupVersion.WithKind(imagev1.ImagePolicyKind), "imagepolicies", func() client.Object { return &imagev1.ImagePolicy{} }},
	{sourcev1.GroupVersion.WithKind(sourcev1.HelmRepositoryKind), "helmrepositories", func() client.Object { return &sourcev1.HelmRepository{} }},
	{helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind), "helmreleases", func() client.Object { return &helmv2.HelmRelease{} }},
}

// crdName is the name of the CRD that serves the kind.
func (k childKind) crdName() string {
	return k.resource + "." + k.gvk.Group
}

// is tells whether two are the same kind.
func (k childKind) is(other childKind) bool {
	return k.gvk == other.gvk
}

// kindsOf returns the kinds of the given names, in the order of childKinds.
func kindsOf(names []string) []childKind {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	var kinds []childKind
	for _, kind := range childKinds {
		if wanted[kind.gvk.Kind] {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// watches starts the watch on a kind when it is first needed and the cluster
// serves it. A watch that waited for a missing CRD at start-up would end the
// whole manager, and with it everything that needs no such kind.
type watches struct {
	controller controller.Controller
	cache      cache.Cache
	mapper     apimeta.RESTMapper
	handler    handler.EventHandler

	mu      sync.Mutex
	started map[schema.GroupVersionKind]bool
}

// ensure returns those of the kinds that the cluster does not serve. The others
// are watched when it returns.
func (w *watches) ensure(kinds []childKind) ([]childKind, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var missing []childKind
	for _, kind := range kinds {
		if w.started[kind.gvk] {
			continue
		}
		_, err := w.mapper.RESTMapping(kind.gvk.GroupKind(), kind.gvk.Version)
		if apimeta.IsNoMatchError(err) {
			missing = append(missing, kind)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("failed to find API of kind %q: %w", kind.gvk.Kind, err)
		}
		if err := w.start(kind); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// watched returns the kinds that are watched, in the order of childKinds.
func (w *watches) watched() []childKind {
	w.mu.Lock()
	defer w.mu.Unlock()
	var kinds []childKind
	for _, kind := range childKinds {
		if w.started[kind.gvk] {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (w *watches) start(kind childKind) error {
	err := w.controller.Watch(source.Kind(w.cache, kind.empty(), w.handler, predicate.Predicate(predicate.ResourceVersionChangedPredicate{})))
	if err != nil {
		return fmt.Errorf("failed to watch kind %q: %w", kind.gvk.Kind, err)
	}
	w.started[kind.gvk] = true
	return nil
}
