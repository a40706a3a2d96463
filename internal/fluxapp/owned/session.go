// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// session is the client of one Apply or Delete. It hands the resource manager
// what has just been read instead of reading it a second time, and keeps what
// the API server answered to its writes: the objects as they are now.
type session struct {
	client.Client
	live map[Ref]*unstructured.Unstructured
}

// Get returns what was read.
func (s *session) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	gvk := obj.GetObjectKind().GroupVersionKind()
	into, ok := obj.(*unstructured.Unstructured)
	found := s.live[NewRef(gvk, key)]
	if !ok || found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	found.DeepCopyInto(into)
	return nil
}

// Patch notes the answer.
func (s *session) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := s.Client.Patch(ctx, obj, patch, options...); err != nil {
		return err
	}
	applied := (&client.PatchOptions{}).ApplyOptions(options)
	if u, ok := obj.(*unstructured.Unstructured); ok && len(applied.DryRun) == 0 {
		s.live[refOf(u)] = u.DeepCopy()
	}
	return nil
}

// own applies the object as the field manager's, and notes the answer.
func (s *session) own(ctx context.Context, obj *unstructured.Unstructured, manager string) error {
	// The answer is read into the object.
	err := s.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.ForceOwnership, client.FieldOwner(manager))
	if err != nil {
		return err
	}
	s.live[refOf(obj)] = obj
	return nil
}
