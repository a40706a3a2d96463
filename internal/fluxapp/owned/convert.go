// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// toUnstructured drops the status, which is its controller's to write.
func toUnstructured(obj client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, fmt.Errorf("failed to determine kind of %q: %w", client.ObjectKeyFromObject(obj), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("failed to convert %s %q: %w", gvk.Kind, client.ObjectKeyFromObject(obj), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

func refOf(u *unstructured.Unstructured) Ref {
	return NewRef(u.GroupVersionKind(), client.ObjectKeyFromObject(u))
}

func subject(u *unstructured.Unstructured) string {
	return refOf(u).Subject()
}

// controlledAs tells whether an object has the controller that it should have.
func controlledAs(live, want *unstructured.Unstructured) bool {
	has, should := metav1.GetControllerOf(live), metav1.GetControllerOf(want)
	return has != nil && should != nil && has.UID == should.UID
}
