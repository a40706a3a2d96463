// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

func readInventory(app *fluxappv1.FluxApp) ([]owned.Ref, error) {
	if app.Status.Inventory == nil {
		return nil, nil
	}
	refs := make([]owned.Ref, 0, len(app.Status.Inventory.Entries))
	for _, entry := range app.Status.Inventory.Entries {
		ref, err := owned.ParseRef(entry.ID, entry.Version)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func writeInventory(app *fluxappv1.FluxApp, refs []owned.Ref) {
	if len(refs) == 0 {
		app.Status.Inventory = nil
		return
	}
	entries := make([]fluxappv1.ResourceRef, 0, len(refs))
	for _, ref := range refs {
		entries = append(entries, fluxappv1.ResourceRef{ID: ref.ID(), Version: ref.Version})
	}
	app.Status.Inventory = &fluxappv1.ResourceInventory{Entries: entries}
}

// refsOf refers to objects that have their type meta set, as desired ones do.
func refsOf(objects []client.Object) []owned.Ref {
	refs := make([]owned.Ref, 0, len(objects))
	for _, obj := range objects {
		refs = append(refs, owned.NewRef(obj.GetObjectKind().GroupVersionKind(), client.ObjectKeyFromObject(obj)))
	}
	return refs
}

func neededRefs(s *scope) []owned.Ref {
	return refsOfKinds(s.app, kindsOf(s.intent.Needed()))
}

func refsOfKinds(app *fluxappv1.FluxApp, kinds []childKind) []owned.Ref {
	refs := make([]owned.Ref, 0, len(kinds))
	for _, kind := range kinds {
		refs = append(refs, owned.NewRef(kind.gvk, client.ObjectKeyFromObject(app)))
	}
	return refs
}
