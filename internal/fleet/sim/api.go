// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// kind of an object that the API server keeps. Each has its own informer.
type kind int

const (
	kustomizations kind = iota
	gitRepositories
	helmReleases
	helmCharts
	kinds
)

// version is an object as it was from a moment on.
type version[T any] struct {
	at     time.Duration
	number int // resourceVersion
	value  T
}

// object keeps the versions of an object that informers may still show.
type object[T any] struct {
	versions []version[T]
}

// live is the newest version.
func (o *object[T]) live() *version[T] { return &o.versions[len(o.versions)-1] }

// asOf is the version that an informer shows which is as far as that moment.
func (o *object[T]) asOf(at time.Duration) *version[T] {
	for i := len(o.versions) - 1; i > 0; i-- {
		if o.versions[i].at <= at {
			return &o.versions[i]
		}
	}
	return &o.versions[0]
}

// since lists the versions from after one moment up to another.
func (o *object[T]) since(after, until time.Duration) []version[T] {
	low := len(o.versions)
	for low > 0 && o.versions[low-1].at > after {
		low--
	}
	high := len(o.versions)
	for high > low && o.versions[high-1].at > until {
		high--
	}
	return o.versions[low:high]
}

// update stores a changed copy.
func (o *object[T]) update(at time.Duration, change func(*T)) {
	const kept = 64
	v := version[T]{at: at, number: 1}
	if len(o.versions) > 0 {
		v.value, v.number = o.live().value, o.live().number+1
	}
	change(&v.value)
	if len(o.versions) >= 2*kept {
		o.versions = append([]version[T](nil), o.versions[kept:]...)
	}
	o.versions = append(o.versions, v)
}

// gitRepository is a source as the API server keeps it. Slices are never
// changed in place.
type gitRepository struct {
	managed   bool
	suspended bool
	// commit is spec.ref.commit, ours and foreign its field managers.
	commit  fleet.Revision
	ours    bool
	foreign []string
	// claimedAt is when the foreign managers last changed their claims.
	claimedAt time.Duration
	// annotations of the controller.
	record   fleet.Revision
	owner    string
	heldBy   string
	initial  bool
	pinnedAt time.Duration

	generation  int64
	observed    int64
	ready       fleet.Condition
	fetchFailed bool
	artifact    fleet.Revision
	artifactAt  time.Duration
}

// kustomization is a node as the API server keeps it.
type kustomization struct {
	exists    bool
	selected  bool
	suspended bool
	source    int // number of the source; -1 for none
	dependsOn []int

	generation    int64
	observed      int64
	ready         fleet.Condition
	last          *fleet.Reconciliation
	lastApplied   fleet.Revision
	lastAttempted fleet.Revision
}

// helmRelease is the release of a node that has one.
type helmRelease struct {
	suspended bool
	observed  int64
	attempted string
	ready     fleet.Condition
}

// helmChart is the chart of a release.
type helmChart struct {
	observedSource fleet.Revision
	version        string
	ready          fleet.Condition
}
