// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package hand

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/pin"
)

// ours are the paths that belong to a pin.
func ours() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "ref", "commit"))
	for _, name := range Annotations {
		set.Insert(fieldpath.MakePathOrDie("metadata", "annotations", name))
	}
	return set
}

// dropForeign takes every other manager's claim on the pin and its annotations
// away. The values do not change: only the managed fields are written.
func (w Writer) dropForeign(ctx context.Context, g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
	return w.guard(ctx, g, func(g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
		return w.dropForeignOnce(ctx, g)
	})
}

func (w Writer) dropForeignOnce(ctx context.Context, g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
	left, changed, err := withoutForeign(g.ManagedFields)
	if err != nil || !changed {
		return g, err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": g.UID},
		{"op": "test", "path": "/metadata/resourceVersion", "value": g.ResourceVersion},
		{"op": "replace", "path": "/metadata/managedFields", "value": left},
	})
	if err != nil {
		return nil, err
	}
	written := g.DeepCopy()
	if err := w.Client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(wavefrontv1.CLIFieldManager)); err != nil {
		return nil, w.tested(ctx, g, err)
	}
	return written, nil
}

// tested tells a failed test of the guard from other refusals: the API server
// has no type of error for it, so the object is looked at.
func (w Writer) tested(ctx context.Context, g *sourcev1.GitRepository, err error) error {
	now := &sourcev1.GitRepository{}
	if got := w.Client.Get(ctx, client.ObjectKeyFromObject(g), now); got == nil && now.ResourceVersion != g.ResourceVersion {
		return fmt.Errorf("%w (%w)", ErrChanged, err)
	}
	return guarded(err)
}

// withoutForeign returns the entries without foreign claims on what is ours.
func withoutForeign(entries []metav1.ManagedFieldsEntry) (left []metav1.ManagedFieldsEntry, changed bool, err error) {
	for _, e := range entries {
		if e.Manager == wavefrontv1.FieldManager || e.Subresource != "" || e.FieldsV1 == nil {
			left = append(left, e)
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
			return nil, false, fmt.Errorf("failed to read the managed fields of %q: %w", e.Manager, err)
		}
		rest := set.Difference(ours())
		if rest.Equals(set) {
			left = append(left, e)
			continue
		}
		changed = true
		if rest.Empty() {
			continue
		}
		raw, err := rest.ToJSON()
		if err != nil {
			return nil, false, fmt.Errorf("failed to write the managed fields of %q: %w", e.Manager, err)
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(raw))
		left = append(left, e)
	}
	return left, changed, nil
}

// dropDisputed removes annotations of a pin that somebody else owns with another
// value than is wanted: a claim without force would conflict.
func (w Writer) dropDisputed(ctx context.Context, g *sourcev1.GitRepository, want map[string]string) (*sourcev1.GitRepository, error) {
	drop := map[string]any{}
	for name := range pin.OwnershipOf(g.ManagedFields).ForeignAnnotations {
		if g.Annotations[name] != want[name] {
			drop[name] = nil
		}
	}
	if len(drop) == 0 {
		return g, nil
	}
	return w.merge(ctx, g, map[string]any{"metadata": map[string]any{"annotations": drop}})
}
