// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ref identifies an object: group, kind, namespace and name, and the API
// version to speak to it with.
type Ref struct {
	object.ObjMetadata
	Version string
}

// NewRef returns the reference of the named object of a kind.
func NewRef(gvk schema.GroupVersionKind, key client.ObjectKey) Ref {
	return Ref{
		ObjMetadata: object.ObjMetadata{Namespace: key.Namespace, Name: key.Name, GroupKind: gvk.GroupKind()},
		Version:     gvk.Version,
	}
}

// ParseRef is the inverse of ID.
func ParseRef(id, version string) (Ref, error) {
	parsed, err := object.ParseObjMetadata(id)
	if err != nil {
		return Ref{}, fmt.Errorf("failed to parse inventory entry %q: %w", id, err)
	}
	return Ref{ObjMetadata: parsed, Version: version}, nil
}

// ID returns the reference in the form of Flux's inventories:
// '<namespace>_<name>_<group>_<kind>'.
func (r Ref) ID() string {
	return r.ObjMetadata.String()
}

// Subject names the object for a person: 'Kind namespace/name'.
func (r Ref) Subject() string {
	return fmt.Sprintf("%s %s/%s", r.GroupKind.Kind, r.Namespace, r.Name)
}

func (r Ref) unstructured() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.GroupKind.WithVersion(r.Version))
	u.SetNamespace(r.Namespace)
	u.SetName(r.Name)
	return u
}

// Union returns the references that are in any of the sets, each once, sorted
// by ID.
func Union(sets ...[]Ref) []Ref {
	all := slices.Concat(sets...)
	slices.SortStableFunc(all, func(a, b Ref) int { return strings.Compare(a.ID(), b.ID()) })
	return slices.CompactFunc(all, func(a, b Ref) bool { return a.ObjMetadata == b.ObjMetadata })
}

// Without returns the references of a set that are not in another.
func Without(set, other []Ref) []Ref {
	var rest []Ref
	for _, ref := range set {
		if !slices.ContainsFunc(other, func(o Ref) bool { return o.ObjMetadata == ref.ObjMetadata }) {
			rest = append(rest, ref)
		}
	}
	return rest
}

// Subjects joins the names of references for a message.
func Subjects(refs []Ref) string {
	names := make([]string, 0, len(refs))
	for _, ref := range refs {
		names = append(names, ref.Subject())
	}
	return strings.Join(names, ", ")
}
