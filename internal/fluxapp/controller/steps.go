// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/patch"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp"
	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

// stepError is why a step failed: the reason to show, and whether to try again.
type stepError struct {
	reason  fluxappv1.Reason
	stalled bool
	cause   error
}

func (e *stepError) Error() string { return e.cause.Error() }
func (e *stepError) Unwrap() error { return e.cause }

func isStalled(err error) bool {
	var step *stepError
	return errors.As(err, &step) && step.stalled
}

// parse checks the spec.
func (r *Reconciler) parse(_ context.Context, s *scope) error {
	intent, err := fluxapp.Parse(s.app)
	if err != nil {
		return &stepError{reason: fluxappv1.ReasonInvalidSpec, stalled: true, cause: err}
	}
	s.intent = intent
	s.app.Status.Chart = intent.Repository.Chart
	return nil
}

// login finds the Secret that spec.serviceAccountName stands for, since a
// HelmRepository can be given no ServiceAccount.
func (r *Reconciler) login(ctx context.Context, s *scope) error {
	name := s.app.Spec.ServiceAccountName
	if name == "" {
		return nil
	}
	var account corev1.ServiceAccount
	key := client.ObjectKey{Namespace: s.app.Namespace, Name: name}
	if err := r.live.Get(ctx, key, &account); err != nil {
		return &stepError{reason: fluxappv1.ReasonServiceAccountUnusable,
			cause: fmt.Errorf("failed to get ServiceAccount %q of spec.serviceAccountName: %w", key, err)}
	}
	if len(account.ImagePullSecrets) > 1 && s.app.Spec.SecretRef == nil {
		return &stepError{reason: fluxappv1.ReasonServiceAccountUnusable,
			cause: fmt.Errorf("ServiceAccount %q of spec.serviceAccountName has %d image pull secrets, "+
				"of which a HelmRepository can take one: name it in spec.secretRef", key, len(account.ImagePullSecrets))}
	}
	if len(account.ImagePullSecrets) == 1 {
		s.intent.PullSecret = account.ImagePullSecrets[0].Name
	}
	return nil
}

// loginAsBefore is login for a suspended FluxApp. What is stopped fetches nothing:
// a ServiceAccount that cannot be used must not keep anything from being stopped,
// and the Secret that it stood for stays.
func (r *Reconciler) loginAsBefore(ctx context.Context, s *scope) error {
	err := r.login(ctx, s)
	if err == nil {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("suspended object cannot log in", "cause", err.Error())
	if repository := s.observed.HelmRepository; repository != nil && repository.Spec.SecretRef != nil {
		s.intent.PullSecret = repository.Spec.SecretRef.Name
	}
	return nil
}

// observe has the needed kinds watched, and reads the objects from the cache.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	needed := kindsOf(s.intent.Needed())
	missing, err := r.watches.ensure(needed)
	if err != nil {
		return &stepError{reason: fluxappv1.ReasonApplyFailed, cause: err}
	}
	if len(missing) > 0 {
		return r.missing(ctx, missing)
	}
	for _, kind := range r.watches.watched() {
		obj, err := r.cached(ctx, kind, client.ObjectKeyFromObject(s.app))
		switch {
		case err != nil:
			return &stepError{reason: fluxappv1.ReasonApplyFailed, cause: err}
		case obj == nil:
		case !slices.ContainsFunc(needed, kind.is):
			if r.keeper.Belongs(s.app, obj) {
				s.strays = append(s.strays, owned.NewRef(kind.gvk, client.ObjectKeyFromObject(obj)))
			}
		default:
			if err := r.keeper.Conflict(s.app, obj); err != nil {
				return applyError(err)
			}
			setObject(&s.observed, obj)
		}
	}
	return nil
}

// cached reads an object from the cache. It is nil if there is none.
func (r *Reconciler) cached(ctx context.Context, kind childKind, key client.ObjectKey) (client.Object, error) {
	obj := kind.empty()
	err := r.client.Get(ctx, key, obj)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("failed to get %s %q: %w", kind.gvk.Kind, key, err)
	}
	if err != nil {
		return nil, nil
	}
	return obj, nil
}

// apply brings the objects about that are wanted now. What will exist is in the
// inventory before it does, so that nothing is forgotten if we die in between.
func (r *Reconciler) apply(ctx context.Context, s *scope) error {
	desired := listObjects(s.intent.Desired(s.observed))
	inventory, err := readInventory(s.app)
	if err != nil {
		return &stepError{reason: fluxappv1.ReasonApplyFailed, cause: err}
	}
	if coming := owned.Without(refsOf(desired), inventory); len(coming) > 0 {
		writeInventory(s.app, owned.Union(inventory, coming))
		if err := s.patcher.Patch(ctx, s.app, patch.WithFieldOwner(StatusManager)); err != nil {
			return &stepError{reason: fluxappv1.ReasonApplyFailed, cause: fmt.Errorf("failed to record inventory: %w", err)}
		}
	}
	s.outcome, err = r.keeper.Apply(ctx, s.app, desired, listObjects(s.observed))
	r.announceApplied(s)
	return applyError(err)
}

// applyExisting is apply for a suspended FluxApp: it creates nothing.
func (r *Reconciler) applyExisting(ctx context.Context, s *scope) error {
	desired := s.intent.Desired(s.observed)
	if s.observed.ImageRepository == nil {
		desired.ImageRepository = nil
	}
	if s.observed.ImagePolicy == nil {
		desired.ImagePolicy = nil
	}
	if s.observed.HelmRepository == nil {
		desired.HelmRepository = nil
	}
	if s.observed.HelmRelease == nil {
		desired.HelmRelease = nil
	}
	var err error
	s.outcome, err = r.keeper.Apply(ctx, s.app, listObjects(desired), listObjects(s.observed))
	r.announceApplied(s)
	return applyError(err)
}

// prune deletes what is in the inventory, or was seen, and is no longer needed.
func (r *Reconciler) prune(ctx context.Context, s *scope) error {
	inventory, err := readInventory(s.app)
	if err != nil {
		return &stepError{reason: fluxappv1.ReasonPruneFailed, cause: err}
	}
	stale := owned.Without(owned.Union(inventory, s.strays), neededRefs(s))
	if len(stale) == 0 {
		return nil
	}
	removal, err := r.keeper.Delete(ctx, s.app, stale)
	r.announcePruned(s, removal.Deleted)
	if err != nil {
		return &stepError{reason: fluxappv1.ReasonPruneFailed, cause: err}
	}
	writeInventory(s.app, owned.Without(inventory, stale))
	return nil
}

// passOnRequest repeats a request to reconcile to each object, once: the
// annotation is not ours to keep, for the flux CLI sets it too.
func (r *Reconciler) passOnRequest(ctx context.Context, s *scope) error {
	requested, ok := fluxmeta.ReconcileAnnotationValue(s.app.Annotations)
	if !ok || requested == s.app.Status.LastHandledReconcileAt {
		return nil
	}
	for _, obj := range listObjects(s.observed) {
		base := obj.DeepCopyObject().(client.Object)
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[fluxmeta.ReconcileRequestAnnotation] = requested
		changed := obj.DeepCopyObject().(client.Object)
		changed.SetAnnotations(annotations)
		err := r.client.Patch(ctx, changed, client.MergeFrom(base), client.FieldOwner(StatusManager))
		if client.IgnoreNotFound(err) != nil {
			return &stepError{reason: fluxappv1.ReasonApplyFailed,
				cause: fmt.Errorf("failed to pass reconcile request on to %q: %w", client.ObjectKeyFromObject(obj), err)}
		}
	}
	return nil
}

func applyError(err error) error {
	if err == nil {
		return nil
	}
	var conflict *owned.ConflictError
	if errors.As(err, &conflict) {
		return &stepError{reason: fluxappv1.ReasonNameConflict, stalled: true, cause: fmt.Errorf(
			"%w: delete it, rename this FluxApp, or hand it over with the labels %s/name and %s/namespace",
			err, fluxappv1.GroupVersion.Group, fluxappv1.GroupVersion.Group)}
	}
	return &stepError{reason: fluxappv1.ReasonApplyFailed, cause: err}
}

// missing says that kinds are not served. One whose CRD exists may be served in
// a moment, which no event tells of: that is tried again.
func (r *Reconciler) missing(ctx context.Context, kinds []childKind) error {
	names := make([]string, 0, len(kinds))
	coming := false
	for _, kind := range kinds {
		names = append(names, fmt.Sprintf("%s (%s)", kind.gvk.Kind, kind.gvk.GroupVersion()))
		coming = coming || r.client.Get(ctx, client.ObjectKey{Name: kind.crdName()}, newCRD()) == nil
	}
	return &stepError{reason: fluxappv1.ReasonAPINotInstalled, stalled: !coming, cause: fmt.Errorf(
		"the cluster does not serve %s: install the Flux controller that brings it", strings.Join(names, ", "))}
}

func setObject(objects *fluxapp.Objects, obj client.Object) {
	switch o := obj.(type) {
	case *imagev1.ImageRepository:
		objects.ImageRepository = o
	case *imagev1.ImagePolicy:
		objects.ImagePolicy = o
	case *sourcev1.HelmRepository:
		objects.HelmRepository = o
	case *helmv2.HelmRelease:
		objects.HelmRelease = o
	}
}

// listObjects returns the objects that are there, in the order of childKinds.
func listObjects(objects fluxapp.Objects) []client.Object {
	var list []client.Object
	if objects.ImageRepository != nil {
		list = append(list, objects.ImageRepository)
	}
	if objects.ImagePolicy != nil {
		list = append(list, objects.ImagePolicy)
	}
	if objects.HelmRepository != nil {
		list = append(list, objects.HelmRepository)
	}
	if objects.HelmRelease != nil {
		list = append(list, objects.HelmRelease)
	}
	return list
}
