// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/patch"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

// finalize deletes everything, whether or not the cluster has a garbage
// collector, and lets the FluxApp go when nothing is left: then the Helm
// release is uninstalled too. With the orphan policy all is left as it is.
func (r *Reconciler) finalize(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.app, fluxappv1.FluxAppFinalizer) {
		return nil
	}
	if controllerutil.ContainsFinalizer(s.app, metav1.FinalizerOrphanDependents) {
		return r.release(ctx, s)
	}
	removal, err := r.remove(ctx, s)
	r.announceDeleted(s, removal.Deleted)
	switch {
	case err != nil:
		return r.recordDeletion(ctx, s, removal, &stepError{reason: fluxappv1.ReasonPruneFailed, cause: err})
	case len(removal.Remaining) > 0:
		return r.recordDeletion(ctx, s, removal, nil)
	default:
		return r.release(ctx, s)
	}
}

// spareRelease suspends the HelmRelease of a suspended FluxApp before it is deleted:
// helm-controller uninstalls what is not. Whether the suspension was passed on
// while the FluxApp lived is not relied on: it may have been set a moment ago,
// or because the spec cannot be acted on.
func (r *Reconciler) spareRelease(ctx context.Context, s *scope) error {
	if !s.app.Spec.Suspend {
		return nil
	}
	release := &helmv2.HelmRelease{}
	key := client.ObjectKeyFromObject(s.app)
	err := r.live.Get(ctx, key, release)
	switch {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("failed to get HelmRelease %q: %w", key, err)
	}
	if release.Spec.Suspend || !release.DeletionTimestamp.IsZero() || !r.keeper.Belongs(s.app, release) {
		return nil
	}
	suspended := release.DeepCopy()
	suspended.Spec.Suspend = true
	err = r.client.Patch(ctx, suspended, client.MergeFrom(release), client.FieldOwner(StatusManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("failed to suspend HelmRelease %q: %w", key, err)
	}
	return nil
}

// remove deletes what the inventory lists and at first, should the list have
// been tampered with, whatever else has our name and is ours. What has to be
// waited for is watched.
func (r *Reconciler) remove(ctx context.Context, s *scope) (owned.Removal, error) {
	refs, err := readInventory(s.app)
	if err != nil {
		r.event(s, corev1.EventTypeWarning, fluxappv1.ReasonPruneFailed, fluxappv1.ActionDelete, err.Error())
	}
	if conditions.GetReason(s.app, fluxmeta.ReadyCondition) != string(fluxappv1.ReasonDeleting) {
		refs = owned.Union(refs, refsOfKinds(s.app, childKinds))
	}
	if err := r.spareRelease(ctx, s); err != nil {
		return owned.Removal{Remaining: refs}, err
	}
	removal, err := r.keeper.Delete(ctx, s.app, refs)
	names := make([]string, 0, len(removal.Remaining))
	for _, ref := range removal.Remaining {
		names = append(names, ref.GroupKind.Kind)
	}
	_, watchErr := r.watches.ensure(kindsOf(names))
	return removal, errors.Join(err, watchErr)
}

// release lets the FluxApp go.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	r.forget(client.ObjectKeyFromObject(s.app))
	controllerutil.RemoveFinalizer(s.app, fluxappv1.FluxAppFinalizer)
	err := s.patcher.Patch(ctx, s.app, patch.WithFieldOwner(StatusManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("failed to remove finalizer of FluxApp %q: %w", client.ObjectKeyFromObject(s.app), err)
	}
	return nil
}

// recordDeletion shows what is waited for, or why a deletion failed.
func (r *Reconciler) recordDeletion(ctx context.Context, s *scope, removal owned.Removal, failure *stepError) error {
	writeInventory(s.app, owned.Union(removal.Remaining))
	message := "waiting for removal of " + owned.Subjects(removal.Remaining)
	conditions.MarkReconciling(s.app, string(fluxappv1.ReasonDeleting), "%s", message)
	conditions.MarkUnknown(s.app, fluxmeta.ReadyCondition, string(fluxappv1.ReasonDeleting), "%s", message)
	var err error
	if failure != nil {
		conditions.MarkFalse(s.app, fluxmeta.ReadyCondition, string(failure.reason), "%s", failure.Error())
		r.announceCondition(s, fluxappv1.ActionDelete)
		err = failure
	}
	patchErr := s.patcher.Patch(ctx, s.app, patchOptions(s.app)...)
	return errors.Join(err, client.IgnoreNotFound(patchErr))
}
