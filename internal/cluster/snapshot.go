// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Snapshot is what a Reader found. The objects may be shared with a cache: they
// are never changed.
type Snapshot struct {
	Wavefronts      []*wavefrontv1.Wavefront
	Kustomizations  []*kustomizev1.Kustomization
	GitRepositories []*sourcev1.GitRepository
	// HelmReleases and HelmCharts are empty where their CRDs are not
	// installed.
	HelmReleases []*helmv2.HelmRelease
	HelmCharts   []*sourcev1.HelmChart
	// NoCrossNamespaceRefs refuses references into other namespaces, as the
	// flag of that name does in Flux's controllers.
	NoCrossNamespaceRefs bool
}

// Wavefront returns the Wavefront of that name; nil if there is none.
func (s *Snapshot) Wavefront(name string) *wavefrontv1.Wavefront {
	for _, w := range s.Wavefronts {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// GitRepository returns the source of that ID; nil if there is none.
func (s *Snapshot) GitRepository(id fleet.ID) *sourcev1.GitRepository {
	return find(s.GitRepositories, id.Namespace, id.Name)
}

// Kustomization returns the node of that ID; nil if there is none.
func (s *Snapshot) Kustomization(id fleet.ID) *kustomizev1.Kustomization {
	return find(s.Kustomizations, id.Namespace, id.Name)
}

// releases returns the facts of all releases whose chart is built from a
// GitRepository.
func (s *Snapshot) releases() []fleet.Release {
	charts := s.charts()
	var releases []fleet.Release
	for _, hr := range s.HelmReleases {
		if r, ok := Release(hr, charts, s.NoCrossNamespaceRefs); ok {
			releases = append(releases, r)
		}
	}
	return releases
}

func (s *Snapshot) charts() Charts {
	byName := make(map[types.NamespacedName]*sourcev1.HelmChart, len(s.HelmCharts))
	for _, c := range s.HelmCharts {
		byName[client.ObjectKeyFromObject(c)] = c
	}
	return func(key types.NamespacedName) *sourcev1.HelmChart { return byName[key] }
}

// Fingerprint says exactly which objects, in which versions, decide whether the
// node is settled: its Kustomization, its source, the HelmReleases that it
// applied or whose chart comes from its source, and their HelmCharts. Two
// snapshots with the same fingerprint show the same state.
func (s *Snapshot) Fingerprint(node fleet.ID) string {
	var b strings.Builder
	k := s.Kustomization(node)
	if k == nil {
		return ""
	}
	write(&b, k)
	source := Node(k, s.NoCrossNamespaceRefs).Source
	if g := s.GitRepository(source); g != nil {
		write(&b, g)
	}
	charts := s.charts()
	for _, hr := range s.HelmReleases {
		from, chart := chartOf(hr, charts)
		if from != source && appliedBy(hr) != node {
			continue
		}
		write(&b, hr)
		if chart != nil {
			write(&b, chart)
		}
	}
	return b.String()
}

func write(b *strings.Builder, o client.Object) {
	for _, s := range []string{string(o.GetUID()), "@", o.GetResourceVersion(), ";"} {
		b.WriteString(s)
	}
}

func find[T client.Object](objects []T, namespace, name string) T {
	for _, o := range objects {
		if o.GetName() == name && o.GetNamespace() == namespace {
			return o
		}
	}
	var none T
	return none
}
