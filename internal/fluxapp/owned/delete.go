// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Removal is what Delete did and found.
type Removal struct {
	// Deleted are the objects whose deletion was asked for now.
	Deleted []Ref
	// Remaining are the objects that still exist, those included: a finalizer
	// of their own may keep them for a while.
	Remaining []Ref
}

// Delete deletes the objects of an owner. What does not exist, what is of a
// kind that does not exist, and what no longer belongs to the owner is passed
// over. One failure does not stop the others.
func (k *Keeper) Delete(ctx context.Context, owner client.Object, refs []Ref) (Removal, error) {
	k.ledger.forget(client.ObjectKeyFromObject(owner))
	var removal Removal
	var failures []error
	for _, ref := range refs {
		if err := k.deleteOne(ctx, owner, ref, &removal); err != nil {
			removal.Remaining = append(removal.Remaining, ref)
			failures = append(failures, err)
		}
	}
	return removal, errors.Join(failures...)
}

func (k *Keeper) deleteOne(ctx context.Context, owner client.Object, ref Ref, removal *Removal) error {
	found, err := k.get(ctx, ref)
	if err != nil {
		return err
	}
	if found == nil || !k.Belongs(owner, found) {
		return nil
	}
	if !found.GetDeletionTimestamp().IsZero() {
		removal.Remaining = append(removal.Remaining, ref)
		return nil
	}
	s := &session{Client: k.client, live: map[Ref]*unstructured.Unstructured{ref: found}}
	_, err = ssa.NewResourceManager(s, nil, k.owner).Delete(ctx, found, ssa.DefaultDeleteOptions())
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("failed to delete %s: %w", ref.Subject(), err)
	}
	removal.Deleted = append(removal.Deleted, ref)
	if len(found.GetFinalizers()) > 0 {
		removal.Remaining = append(removal.Remaining, ref)
	}
	return nil
}
