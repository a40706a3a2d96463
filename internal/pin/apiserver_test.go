// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
)

// apiServer keeps objects as the API server does, as far as a Writer can tell:
// server-side apply with the real field manager, merge patches, and the
// preconditions on UID and resourceVersion. Everything else is not implemented.
type apiServer struct {
	client.Client // nil: an unexpected call is a failed test

	mu      sync.Mutex
	version int
	objects map[string]*unstructured.Unstructured
	fields  *managedfields.FieldManager
}

var sourceGVK = sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind)

func newAPIServer() *apiServer {
	fields, err := managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(),
		oneVersion{}, oneVersion{}, oneVersion{}, sourceGVK, sourcev1.GroupVersion, "", nil)
	if err != nil {
		panic(err)
	}
	return &apiServer{objects: map[string]*unstructured.Unstructured{}, fields: fields}
}

// Apply implements client.Writer.
func (s *apiServer) Apply(_ context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	o := (&client.ApplyOptions{}).ApplyOptions(opts)
	raw, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	patch := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, patch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	live, err := s.live(patch)
	if err != nil {
		return err
	}
	applied, err := s.fields.Apply(live, patch, o.FieldManager, o.Force != nil && *o.Force)
	if err != nil {
		return err
	}
	stored := s.store(live, applied.(*unstructured.Unstructured))
	raw, err = json.Marshal(stored)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, obj)
}

// Patch implements client.Writer, for merge patches.
func (s *apiServer) Patch(_ context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	o := (&client.PatchOptions{}).ApplyOptions(opts)
	data, err := patch.Data(obj)
	if err != nil || patch.Type() != types.MergePatchType {
		return fmt.Errorf("unexpected patch of type %s: %w", patch.Type(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	change := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &change.Object); err != nil {
		return err
	}
	change.SetNamespace(obj.GetNamespace())
	change.SetName(obj.GetName())
	live, err := s.live(change)
	if err != nil {
		return err
	}
	before, err := json.Marshal(live)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		return err
	}
	changed := &unstructured.Unstructured{}
	if err := json.Unmarshal(after, changed); err != nil {
		return err
	}
	updated, err := s.fields.Update(live, changed, o.FieldManager)
	if err != nil {
		return err
	}
	return fromUnstructured(s.store(live, updated.(*unstructured.Unstructured)), obj)
}

// Get implements client.Reader.
func (s *apiServer) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.objects[kindOf(obj)+key.String()]
	if live == nil {
		return notFound(key.Name)
	}
	return fromUnstructured(live, obj)
}

// List implements client.Reader, for GitRepositories.
func (s *apiServer) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	into := list.(*sourcev1.GitRepositoryList)
	for _, live := range s.objects {
		if live.GetKind() != sourcev1.GitRepositoryKind {
			continue
		}
		g := sourcev1.GitRepository{}
		if err := fromUnstructured(live, &g); err != nil {
			return err
		}
		into.Items = append(into.Items, g)
	}
	return nil
}

// live returns the object that a request is about, created where the request
// names no version of it.
func (s *apiServer) live(request *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource := sourcev1.GroupVersion.WithResource("gitrepositories").GroupResource()
	name := request.GetName()
	live := s.objects[sourcev1.GitRepositoryKind+client.ObjectKeyFromObject(request).String()]
	uid, version := request.GetUID(), request.GetResourceVersion()
	switch {
	case live == nil && uid != "":
		return nil, apierrors.NewConflict(resource, name, fmt.Errorf("no object with UID %s", uid))
	case live == nil:
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(sourceGVK)
		return live, nil
	case uid != "" && uid != live.GetUID():
		return nil, apierrors.NewConflict(resource, name, fmt.Errorf("UID is %s", live.GetUID()))
	case version != "" && version != live.GetResourceVersion():
		return nil, apierrors.NewConflict(resource, name, fmt.Errorf("version is %s", live.GetResourceVersion()))
	}
	return live, nil
}

// store keeps the object; without a change its version stays the same.
func (s *apiServer) store(before, after *unstructured.Unstructured) *unstructured.Unstructured {
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetUID(before.GetUID())
	if a, err := json.Marshal(after); err == nil {
		if b, err := json.Marshal(before); err == nil && string(a) == string(b) {
			return before
		}
	}
	s.version++
	after.SetResourceVersion(strconv.Itoa(s.version))
	if after.GetUID() == "" {
		after.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
	}
	s.objects[after.GetKind()+client.ObjectKeyFromObject(after).String()] = after
	return after
}

// put stores an object as it is.
func (s *apiServer) put(obj client.Object) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[kindOf(obj)+client.ObjectKeyFromObject(obj).String()] = &unstructured.Unstructured{Object: raw}
}

// remove deletes a source.
func (s *apiServer) remove(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, sourcev1.GitRepositoryKind+namespace+"/"+name)
}

func kindOf(obj client.Object) string {
	if _, ok := obj.(*sourcev1.GitRepository); ok {
		return sourcev1.GitRepositoryKind
	}
	return fmt.Sprintf("%T", obj)
}

func fromUnstructured(u *unstructured.Unstructured, obj any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj)
}

func notFound(name string) error {
	return apierrors.NewNotFound(sourcev1.GroupVersion.WithResource("gitrepositories").GroupResource(), name)
}

// oneVersion converts, defaults and creates objects of a kind that has a single
// version without defaults.
type oneVersion struct{}

func (oneVersion) Convert(_, _, _ any) error { return fmt.Errorf("nothing to convert") }

func (oneVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (oneVersion) Default(runtime.Object) {}

func (oneVersion) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}
