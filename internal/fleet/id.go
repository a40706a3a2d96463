// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"time"
)

// Kinds of objects that the rules speak of.
const (
	KindKustomization = "Kustomization"
	KindGitRepository = "GitRepository"
	KindHelmRelease   = "HelmRelease"
	KindHelmChart     = "HelmChart"
)

// ID names a node, a source or another object of the cluster.
type ID struct {
	Kind      string
	Namespace string
	Name      string
}

// String renders the ID as Kind/namespace/name.
func (id ID) String() string { return id.Kind + "/" + id.Namespace + "/" + id.Name }

// IsZero tells whether the ID names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders IDs by kind, namespace and name: the order of every list that
// the project publishes, and the last tie-breaker of every choice it makes.
func (id ID) Compare(other ID) int {
	return cmp.Or(
		cmp.Compare(id.Kind, other.Kind),
		cmp.Compare(id.Namespace, other.Namespace),
		cmp.Compare(id.Name, other.Name),
	)
}

// Revision is an opaque revision of a source: for a GitRepository the lower-case
// hash of a commit. The empty Revision means "none".
type Revision string

// Same tells whether both are the same revision. "None" is the same as nothing,
// not even as itself.
func (r Revision) Same(other Revision) bool { return r != "" && r == other }

// Instant is a moment in the life of this process. Seq orders moments (a
// counter never goes back or stands still as a clock may); At is the monotonic
// time since the process started and only measures distances. The zero Instant
// never happened.
type Instant struct {
	Seq uint64
	At  time.Duration
}

// IsZero tells whether the moment never happened.
func (i Instant) IsZero() bool { return i.Seq == 0 }

// After tells whether i came after j, and at least lag after it. Nothing comes
// after a moment that never happened, and what never happened comes after
// nothing.
func (i Instant) After(j Instant, lag time.Duration) bool {
	return !i.IsZero() && !j.IsZero() && i.Seq > j.Seq && i.At-j.At >= lag
}
