// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Reread returns a copy of the snapshot in which everything that decides whether
// the nodes are settled is read from live: their Kustomizations and sources,
// the HelmReleases that they applied (those that no cache has seen yet too) or
// whose chart comes from their sources, and the HelmCharts of these. What is
// gone by now is gone from the copy.
func (s *Snapshot) Reread(ctx context.Context, live client.Reader, nodes []fleet.ID) (*Snapshot, error) {
	r := &rereading{
		live: live, from: s.index(), noCrossNamespaceRefs: s.NoCrossNamespaceRefs,
		kustomizations: fresh[*kustomizev1.Kustomization]{},
		repositories:   fresh[*sourcev1.GitRepository]{},
		releases:       fresh[*helmv2.HelmRelease]{},
		charts:         fresh[*sourcev1.HelmChart]{},
	}
	if err := r.read(ctx, nodes); err != nil {
		return nil, err
	}
	copied := &Snapshot{
		Wavefronts:           s.Wavefronts,
		Kustomizations:       r.kustomizations.over(s.Kustomizations),
		GitRepositories:      r.repositories.over(s.GitRepositories),
		NoCrossNamespaceRefs: s.NoCrossNamespaceRefs,
	}
	if !r.helmGone {
		copied.HelmReleases = r.releases.over(s.HelmReleases)
		copied.HelmCharts = r.charts.over(s.HelmCharts)
	}
	return copied, nil
}

// rereading collects what was read live.
type rereading struct {
	live                 client.Reader
	from                 *index
	noCrossNamespaceRefs bool

	kustomizations fresh[*kustomizev1.Kustomization]
	repositories   fresh[*sourcev1.GitRepository]
	releases       fresh[*helmv2.HelmRelease]
	charts         fresh[*sourcev1.HelmChart]
	// helmGone: the CRD of HelmReleases is not installed any more.
	helmGone bool
}

// fresh are objects as they were read live; what is gone has no object.
type fresh[T client.Object] map[types.NamespacedName]*T

// over returns a list with the fresh objects in place of the old ones.
func (f fresh[T]) over(list []T) []T {
	seen := make(map[types.NamespacedName]bool, len(f))
	out := make([]T, 0, len(list)+len(f))
	for _, old := range list {
		name := client.ObjectKeyFromObject(old)
		object, read := f[name]
		switch {
		case !read:
			out = append(out, old)
		case object != nil:
			out = append(out, *object)
		}
		seen[name] = read
	}
	for name, object := range f {
		if object != nil && !seen[name] {
			out = append(out, *object)
		}
	}
	return out
}

// read reads the nodes and their sources first, and their releases after them: what a
// Kustomization that is ready has applied is there by then.
func (r *rereading) read(ctx context.Context, nodes []fleet.ID) error {
	sources := make([]fleet.ID, len(nodes))
	for i, node := range nodes {
		var err error
		if sources[i], err = r.node(ctx, node); err != nil {
			return err
		}
	}
	applied, err := r.appliedReleases(ctx, nodes)
	if notInstalled(err) {
		r.helmGone = true
		return nil
	}
	if err != nil {
		return err
	}
	for i, node := range nodes {
		if err := r.nodeReleases(ctx, node, sources[i], applied[node]); err != nil {
			return err
		}
	}
	return nil
}

// node reads a node and the source that it is built from, which it returns.
func (r *rereading) node(ctx context.Context, node fleet.ID) (source fleet.ID, err error) {
	k := &kustomizev1.Kustomization{}
	if err := reread(ctx, r.live, r.kustomizations, k, key(node)); err != nil {
		return source, err
	}
	source = Node(k, r.noCrossNamespaceRefs).Source
	// Nodes of one source read it once.
	if _, read := r.repositories[key(source)]; !read && !source.IsZero() {
		if err := reread(ctx, r.live, r.repositories, &sourcev1.GitRepository{}, key(source)); err != nil {
			return source, err
		}
	}
	return source, nil
}

// reread reads an object live, into into and among the fresh ones. A reference may
// hold a name that no object can have: a client refuses to ask for it, and one such
// reference must not stop the judgement of everybody else.
func reread[T client.Object](ctx context.Context, live client.Reader, among fresh[T], into T, name types.NamespacedName) error {
	if !possible(name) {
		among[name] = nil
		return nil
	}
	err := live.Get(ctx, name, into)
	switch {
	case err == nil:
		among[name] = &into
	case notInstalled(err):
		among[name] = nil
	default:
		return fmt.Errorf("failed to read %T %q: %w", into, name, err)
	}
	return nil
}

// possible tells whether an object may have the name, as far as that can be asked.
func possible(name types.NamespacedName) bool {
	for _, part := range []string{name.Namespace, name.Name} {
		if part == "" || len(content.IsPathSegmentName(part)) > 0 {
			return false
		}
	}
	return true
}
