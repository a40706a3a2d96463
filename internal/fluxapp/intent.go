// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp

import (
	"encoding/json"
	"fmt"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// providerGeneric is the provider that logs in with a Secret, if at all.
const providerGeneric = "generic"

// Intent is a FluxApp's spec, checked and taken apart.
type Intent struct {
	App        *fluxappv1.FluxApp
	Repository Repository
	Version    Version
	// PullSecret is the name of the Secret that fetches the chart where
	// spec.serviceAccountName stands for it; empty where it does not.
	PullSecret string
}

// Parse checks a FluxApp and takes its spec apart. Errors are *FieldError.
func Parse(app *fluxappv1.FluxApp) (Intent, error) {
	if len(app.Name) > fluxappv1.MaxNameLength {
		return Intent{}, &FieldError{Field: "metadata.name", Problem: fmt.Sprintf(
			"must be no longer than %d characters: it is the name of the Helm release too", fluxappv1.MaxNameLength)}
	}
	repository, err := ParseRepository(app.Spec.Chart.Repository)
	if err != nil {
		return Intent{}, err
	}
	version, err := ParseVersion(app.Spec.Chart.Version)
	if err != nil {
		return Intent{}, err
	}
	if err := checkLogin(app.Spec, repository); err != nil {
		return Intent{}, err
	}
	if err := checkValues(app.Spec); err != nil {
		return Intent{}, err
	}
	return Intent{App: app, Repository: repository, Version: version}, nil
}

// Selects tells whether an ImagePolicy selects the version. It is so for a
// constraint on an OCI repository: an exact version needs no selection, and
// source-controller itself resolves 'latest' and the constraints of a chart
// repository over HTTP.
func (i Intent) Selects() bool {
	return i.Repository.OCI() && i.Version.Constrained()
}

func checkLogin(spec fluxappv1.FluxAppSpec, repository Repository) error {
	cloud := spec.Provider != "" && spec.Provider != providerGeneric
	switch {
	case cloud && !repository.OCI():
		return &FieldError{Field: "spec.provider", Problem: "is only for an oci:// repository: " +
			"a chart repository over HTTP has no cloud provider to log in to"}
	case spec.ServiceAccountName != "" && !repository.OCI():
		return &FieldError{Field: "spec.serviceAccountName", Problem: "is only for an oci:// repository: " +
			"image pull secrets do not log in to a chart repository over HTTP, use secretRef"}
	case cloud && spec.SecretRef != nil:
		return &FieldError{Field: "spec.secretRef", Problem: "and spec.provider are two ways to log in to one registry: " +
			"set only one of them"}
	}
	return nil
}

func checkValues(spec fluxappv1.FluxAppSpec) error {
	if spec.Values == nil {
		return nil
	}
	var values map[string]any
	if err := json.Unmarshal(spec.Values.Raw, &values); err != nil {
		return &FieldError{Field: "spec.values", Problem: "must be an object"}
	}
	return nil
}
