// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// wanted is everything that the controller's field manager shall own of a source
// after a write. An apply drops what it does not name, so it is always whole.
type wanted struct {
	// commit as it is written in spec.ref.commit; empty: no claim on it.
	commit string
	// annotations that shall be there; those that are not named shall not.
	annotations map[string]string
}

// keep wants what is there: all annotations, and the commit if it is ours.
func keep(g *sourcev1.GitRepository, o Ownership) wanted {
	w := wanted{annotations: map[string]string{}}
	for _, name := range annotations {
		if value := g.Annotations[name]; value != "" {
			w.annotations[name] = value
		}
	}
	if o.Ours {
		w.commit = commitOf(g)
	}
	return w
}

// set sets an annotation; an empty value drops it.
func (w wanted) set(name, value string) {
	if value == "" {
		delete(w.annotations, name)
		return
	}
	w.annotations[name] = value
}

// record makes the record follow a commit that was seen on the source's present
// reference.
func (w wanted) record(g *sourcev1.GitRepository, commit fleet.Revision) {
	ref, style := trackingRef(g)
	if ref == "" {
		ref = style
	}
	w.set(wavefrontv1.PinnedCommitAnnotation, string(commit))
	w.set(wavefrontv1.ObservedRefAnnotation, ref)
	w.set(wavefrontv1.ObservedURLAnnotation, fleet.PublicURL(g.Spec.URL))
}

// met tells whether the object is as wanted already, owned as wanted included.
func (w wanted) met(g *sourcev1.GitRepository, o Ownership) bool {
	if o.Ours != (w.commit != "") || w.commit != "" && w.commit != commitOf(g) {
		return false
	}
	for _, name := range annotations {
		if g.Annotations[name] != w.annotations[name] {
			return false
		}
	}
	return true
}

// disputed returns the annotations that other managers own and that are not as
// wanted: a claim of ours would conflict, and dropping ours would leave theirs.
func (w wanted) disputed(g *sourcev1.GitRepository, o Ownership) []string {
	var names []string
	for name := range o.ForeignAnnotations {
		if g.Annotations[name] != w.annotations[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// configuration renders what is wanted of this version of this object.
func (w wanted) configuration(g *sourcev1.GitRepository) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind))
	u.SetNamespace(g.Namespace)
	u.SetName(g.Name)
	u.SetUID(g.UID)
	u.SetResourceVersion(g.ResourceVersion)
	if len(w.annotations) > 0 {
		u.SetAnnotations(w.annotations)
	}
	if w.commit != "" {
		u.Object["spec"] = map[string]any{"ref": map[string]any{"commit": w.commit}}
	}
	return u
}

// commitOf returns spec.ref.commit letter by letter.
func commitOf(g *sourcev1.GitRepository) string {
	if g.Spec.Reference == nil {
		return ""
	}
	return g.Spec.Reference.Commit
}

func trackingRef(g *sourcev1.GitRepository) (ref, style string) {
	r := g.Spec.Reference
	if r == nil {
		return fleet.TrackingRef("", "", "", "")
	}
	return fleet.TrackingRef(r.Name, r.Tag, r.SemVer, r.Branch)
}
