// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1b3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// newScheme knows Kubernetes' own types, Flux's, the project's, and what more is asked for.
func newScheme(more []func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		sourcev1.AddToScheme,
		kustomizev1.AddToScheme,
		helmv2.AddToScheme,
		imagev1.AddToScheme,
		notificationv1.AddToScheme,
		notificationv1b3.AddToScheme,
		wavefrontv1.AddToScheme,
		fluxappv1.AddToScheme,
	}, more...) {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}
