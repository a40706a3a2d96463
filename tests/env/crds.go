// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fluxCRDs are made by hack/programs/crds.sh.
//
//go:embed crds/*.yaml
var fluxCRDs embed.FS

// fieldManager owns what this package applies.
const fieldManager = "wavefront-env"

// Install makes the namespaces and applies every CRD: Flux's, and the project's as they are
// in the work tree. Start has done so; after a change it can be called again.
func (e *Env) Install(ctx context.Context) error {
	for _, name := range append([]string{RuntimeNamespace}, e.options.Namespaces...) {
		if err := e.ensureNamespace(ctx, name); err != nil {
			return err
		}
	}
	objects, err := decodeFS(fluxCRDs, "crds")
	if err != nil {
		return err
	}
	for _, path := range append([]string{
		filepath.Join(e.root, "config", "crd", "bases"),
		filepath.Join(e.root, "config", "fluxapp", "crd", "bases"),
	}, e.options.CRDs...) {
		more, err := decodePath(path)
		if err != nil {
			return err
		}
		objects = append(objects, more...)
	}
	return e.ApplyCRDs(ctx, objects...)
}

func (e *Env) ensureNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := e.client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("failed to create namespace %q: %w", name, err)
	}
	return nil
}

// Apply applies objects by server-side apply, in the order given.
func (e *Env) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		err := e.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()),
			client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("failed to apply %s %q: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

// ApplyCRDs applies CRDs and waits until the API server serves them.
func (e *Env) ApplyCRDs(ctx context.Context, objects ...*unstructured.Unstructured) error {
	if err := e.Apply(ctx, objects...); err != nil {
		return err
	}
	for _, object := range objects {
		if err := e.awaitEstablished(ctx, object.GetName()); err != nil {
			return fmt.Errorf("failed to wait for CRD %q: %w", object.GetName(), err)
		}
	}
	return nil
}

func (e *Env) awaitEstablished(ctx context.Context, name string) error {
	return poll(ctx, func(ctx context.Context) (bool, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := e.client.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
			return false, err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				return condition.Status == apiextensionsv1.ConditionTrue, nil
			}
		}
		return false, nil
	})
}

// Decode reads the objects of a YAML stream.
func Decode(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// decodePath reads the objects of a YAML file or of the YAML files in a folder. What
// is not there has none.
func decodePath(path string) ([]*unstructured.Unstructured, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return decodeFS(os.DirFS(path), ".")
	}
	return decodeFile(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

func decodeFS(files fs.FS, dir string) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(files, dir+"/*.yaml")
	if dir == "." {
		names, err = fs.Glob(files, "*.yaml")
	}
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range names {
		more, err := decodeFile(files, name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

func decodeFile(files fs.FS, name string) ([]*unstructured.Unstructured, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	objects, err := Decode(content)
	if err != nil {
		return nil, fmt.Errorf("failed to decode %q: %w", name, err)
	}
	return objects, nil
}
