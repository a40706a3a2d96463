// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// Reader lists the objects that a fleet is judged by.
type Reader struct {
	// Client lists: the manager's cache in the controller, a live client
	// elsewhere.
	Client client.Reader
	// NoCrossNamespaceRefs is Flux's flag of that name.
	NoCrossNamespaceRefs bool
	// Newer, where set, returns the newest version of a GitRepository that the
	// process has: the one that it wrote itself while the cache has not caught
	// up, else the one that it is given.
	Newer func(*sourcev1.GitRepository) *sourcev1.GitRepository
}

// Read lists everything. It fails where Wavefronts, Kustomizations or
// GitRepositories can't be listed; a kind of Helm whose CRD is not installed is
// an empty list, now and until it is installed.
func (r *Reader) Read(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{NoCrossNamespaceRefs: r.NoCrossNamespaceRefs}

	wavefronts := &wavefrontv1.WavefrontList{}
	if err := list(ctx, r.Client, wavefronts, "Wavefronts"); err != nil {
		return nil, err
	}
	s.Wavefronts = pointers(wavefronts.Items)

	kustomizations := &kustomizev1.KustomizationList{}
	if err := list(ctx, r.Client, kustomizations, "Kustomizations"); err != nil {
		return nil, err
	}
	s.Kustomizations = pointers(kustomizations.Items)

	repositories := &sourcev1.GitRepositoryList{}
	if err := list(ctx, r.Client, repositories, "GitRepositories"); err != nil {
		return nil, err
	}
	s.GitRepositories = pointers(repositories.Items)
	r.overlay(s.GitRepositories)

	var err error
	if s.HelmReleases, s.HelmCharts, err = helm(ctx, r.Client); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *Reader) overlay(repositories []*sourcev1.GitRepository) {
	if r.Newer == nil {
		return
	}
	for i, g := range repositories {
		repositories[i] = r.Newer(g)
	}
}

// helm lists releases and charts; nothing where a CRD is not installed.
func helm(ctx context.Context, c client.Reader, opts ...client.ListOption) ([]*helmv2.HelmRelease, []*sourcev1.HelmChart, error) {
	releases := &helmv2.HelmReleaseList{}
	if err := list(ctx, c, releases, "HelmReleases", opts...); err != nil && !notInstalled(err) {
		return nil, nil, err
	}
	charts := &sourcev1.HelmChartList{}
	if err := list(ctx, c, charts, "HelmCharts"); err != nil && !notInstalled(err) {
		return nil, nil, err
	}
	return pointers(releases.Items), pointers(charts.Items), nil
}

// list lists objects without copying those of a cache.
func list(ctx context.Context, c client.Reader, into client.ObjectList, what string, opts ...client.ListOption) error {
	opts = append(opts, client.UnsafeDisableDeepCopy)
	if err := c.List(ctx, into, opts...); err != nil {
		return fmt.Errorf("failed to list %s: %w", what, err)
	}
	return nil
}

// notInstalled tells whether the server does not know the kind: the mapper has
// no match, or had one and the CRD has been deleted since.
func notInstalled(err error) bool {
	return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

func pointers[T any](items []T) []*T {
	if len(items) == 0 {
		return nil
	}
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
