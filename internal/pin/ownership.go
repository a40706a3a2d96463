// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// annotations are all annotations that go with a pin.
var annotations = []string{
	wavefrontv1.OwnerAnnotation,
	wavefrontv1.PinnedCommitAnnotation,
	wavefrontv1.PreviousPinAnnotation,
	wavefrontv1.ObservedRefAnnotation,
	wavefrontv1.ObservedURLAnnotation,
	wavefrontv1.AdmittedAtAnnotation,
	wavefrontv1.HeldByAnnotation,
	wavefrontv1.ForcedByAnnotation,
}

var commitPath = fieldpath.MakePathOrDie("spec", "ref", "commit")

// Ownership says who owns what of a source, as its managedFields tell.
type Ownership struct {
	// Ours is set where the controller's field manager owns spec.ref.commit,
	// alone or shared.
	Ours bool
	// Foreign are the other managers of spec.ref.commit, sorted.
	Foreign []Claimant
	// Annotations are those annotations of ours that the controller's field
	// manager owns, alone or shared.
	Annotations []string
	// ForeignAnnotations are the other managers' claims on annotations of ours,
	// by annotation.
	ForeignAnnotations map[string][]string
}

// Claimant is a manager that owns spec.ref.commit.
type Claimant struct {
	// Manager is the field manager's name.
	Manager string
	// Time is when the manager last changed its set of fields: it has owned
	// the commit at least since then. Zero where the object does not say.
	Time metav1.Time
}

// OwnershipOf reads the managedFields of an object. Entries of subresources do
// not count, and one that can't be read claims nothing.
func OwnershipOf(entries []metav1.ManagedFieldsEntry) Ownership {
	o := Ownership{}
	for _, e := range entries {
		if e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
			continue
		}
		o.add(e, set)
	}
	slices.SortFunc(o.Foreign, func(a, b Claimant) int { return bytes.Compare([]byte(a.Manager), []byte(b.Manager)) })
	slices.Sort(o.Annotations)
	return o
}

func (o *Ownership) add(e metav1.ManagedFieldsEntry, set *fieldpath.Set) {
	// An update under our name is not ours: somebody else sent it.
	ours := e.Manager == wavefrontv1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply
	if set.Has(commitPath) {
		if ours {
			o.Ours = true
		} else {
			o.claim(e)
		}
	}
	for _, name := range annotations {
		if !set.Has(annotationPath(name)) {
			continue
		}
		if ours {
			o.Annotations = append(o.Annotations, name)
			continue
		}
		if o.ForeignAnnotations == nil {
			o.ForeignAnnotations = map[string][]string{}
		}
		o.ForeignAnnotations[name] = append(o.ForeignAnnotations[name], e.Manager)
	}
}

// claim adds a foreign claim; a manager that holds it by two operations is one.
func (o *Ownership) claim(e metav1.ManagedFieldsEntry) {
	c := Claimant{Manager: e.Manager}
	if e.Time != nil {
		c.Time = *e.Time
	}
	for i, known := range o.Foreign {
		if known.Manager == c.Manager {
			if c.Time.Before(&known.Time) {
				o.Foreign[i] = c
			}
			return
		}
	}
	o.Foreign = append(o.Foreign, c)
}

// OwnsAnnotation tells whether the controller's manager owns the annotation.
func (o Ownership) OwnsAnnotation(name string) bool { return slices.Contains(o.Annotations, name) }

// Managers returns the names of the foreign managers of the commit.
func (o Ownership) Managers() []string {
	if len(o.Foreign) == 0 {
		return nil
	}
	names := make([]string, len(o.Foreign))
	for i, c := range o.Foreign {
		names[i] = c.Manager
	}
	return names
}

func annotationPath(name string) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", name)
}
