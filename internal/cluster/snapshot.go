// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Snapshot is what a Reader found. The objects may be shared with a cache: they
// are never changed. Nor are the lists of Flux objects once the Snapshot has been
// asked something.
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

	once sync.Once
	by   index
}

// index finds objects without looking at all of them.
type index struct {
	kustomizations map[types.NamespacedName]*kustomizev1.Kustomization
	repositories   map[types.NamespacedName]*sourcev1.GitRepository
	charts         map[types.NamespacedName]*sourcev1.HelmChart
	// byApplier finds HelmReleases by the Kustomization that applied them, strays
	// by what their charts are built from where no Kustomization that is built from
	// it too applied them.
	byApplier map[fleet.ID][]*helmv2.HelmRelease
	strays    map[fleet.ID][]*helmv2.HelmRelease
}

func (s *Snapshot) index() *index {
	s.once.Do(func() {
		s.by = index{
			kustomizations: byName(s.Kustomizations),
			repositories:   byName(s.GitRepositories),
			charts:         byName(s.HelmCharts),
			byApplier:      map[fleet.ID][]*helmv2.HelmRelease{},
			strays:         map[fleet.ID][]*helmv2.HelmRelease{},
		}
		for _, hr := range s.HelmReleases {
			applier := appliedBy(hr)
			source, _ := chartOf(hr, s.by.chart)
			if !source.IsZero() && s.builtFrom(applier) != source {
				s.by.strays[source] = append(s.by.strays[source], hr)
			}
			if !applier.IsZero() {
				s.by.byApplier[applier] = append(s.by.byApplier[applier], hr)
			}
		}
	})
	return &s.by
}

// builtFrom returns the source of a Kustomization; zero where there is none.
func (s *Snapshot) builtFrom(id fleet.ID) fleet.ID {
	k := s.by.kustomizations[key(id)]
	if k == nil {
		return fleet.ID{}
	}
	source, refused := sourceOf(k, s.NoCrossNamespaceRefs)
	if refused {
		return fleet.ID{}
	}
	return source
}

func (i *index) chart(key types.NamespacedName) *sourcev1.HelmChart { return i.charts[key] }

// releases returns the HelmReleases that decide about a node: those that it applied,
// unless their chart is known to come from elsewhere, and those whose chart comes from
// its source and that no node of it applied. What a sibling applied is the sibling's:
// where many share a source, one of theirs is always in motion.
func (i *index) releases(node, source fleet.ID) []*helmv2.HelmRelease {
	var all []*helmv2.HelmRelease
	for _, hr := range i.byApplier[node] {
		if from, _ := chartOf(hr, i.chart); from == source || from.IsZero() && len(wantedCharts(hr)) > 0 {
			all = append(all, hr)
		}
	}
	for _, hr := range i.strays[source] {
		if appliedBy(hr) != node {
			all = append(all, hr)
		}
	}
	return all
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
	return s.index().repositories[key(id)]
}

// Kustomization returns the node of that ID; nil if there is none.
func (s *Snapshot) Kustomization(id fleet.ID) *kustomizev1.Kustomization {
	return s.index().kustomizations[key(id)]
}

// releases returns the facts of all releases whose chart is built from a
// GitRepository, and of what these depend on.
func (s *Snapshot) releases() []fleet.Release {
	if len(s.HelmReleases) == 0 {
		return nil
	}
	releases := make([]fleet.Release, 0, len(s.HelmReleases))
	var others []*helmv2.HelmRelease
	wanted := map[fleet.ID]bool{}
	for _, hr := range s.HelmReleases {
		r, ok := Release(hr, s.index().chart, s.NoCrossNamespaceRefs)
		if !ok {
			others = append(others, hr)
			continue
		}
		releases = append(releases, r)
		for _, d := range r.DependsOn {
			wanted[d] = true
		}
	}
	for _, hr := range others {
		if wanted[HelmReleaseID(hr.Namespace, hr.Name)] {
			releases = append(releases, dependency(hr))
		}
	}
	return releases
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
	for _, hr := range s.index().releases(node, source) {
		write(&b, hr)
		if _, chart := chartOf(hr, s.index().chart); chart != nil {
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

func byName[T client.Object](objects []T) map[types.NamespacedName]T {
	all := make(map[types.NamespacedName]T, len(objects))
	for _, o := range objects {
		all[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = o
	}
	return all
}

func key(id fleet.ID) types.NamespacedName {
	return types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
}
