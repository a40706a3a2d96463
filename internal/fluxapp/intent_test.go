// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"errors"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp"
)

func newApp(repository, version string, change ...func(*fluxappv1.FluxApp)) *fluxappv1.FluxApp {
	app := &fluxappv1.FluxApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "example", UID: "app-uid"},
		Spec:       fluxappv1.FluxAppSpec{Chart: fluxappv1.ChartSpec{Repository: repository, Version: version}},
	}
	for _, c := range change {
		c(app)
	}
	return app
}

func parse(g Gomega, app *fluxappv1.FluxApp) fluxapp.Intent {
	intent, err := fluxapp.Parse(app)
	g.Expect(err).NotTo(HaveOccurred())
	return intent
}

const (
	ociChart  = "oci://ghcr.io/stefanprodan/charts/podinfo"
	httpChart = "https://stefanprodan.github.io/podinfo/podinfo"
)

func TestParseNamesTheField(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		app   *fluxappv1.FluxApp
		field string
	}{
		{name: "long name", app: newApp(ociChart, "", func(a *fluxappv1.FluxApp) { a.Name = strings.Repeat("a", 54) }), field: "metadata.name"},
		{name: "repository", app: newApp("oci://ghcr.io", ""), field: "spec.chart.repository"},
		{name: "version", app: newApp(ociChart, "newest"), field: "spec.chart.version"},
		{name: "provider of HTTP", app: newApp(httpChart, "", func(a *fluxappv1.FluxApp) { a.Spec.Provider = "aws" }), field: "spec.provider"},
		{name: "account of HTTP", app: newApp(httpChart, "", func(a *fluxappv1.FluxApp) { a.Spec.ServiceAccountName = "puller" }), field: "spec.serviceAccountName"},
		{name: "two logins", app: newApp(ociChart, "", func(a *fluxappv1.FluxApp) {
			a.Spec.Provider = "aws"
			a.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: "login"}
		}), field: "spec.secretRef"},
		{name: "values", app: newApp(ociChart, "", func(a *fluxappv1.FluxApp) {
			a.Spec.Values = &apiextensionsv1.JSON{Raw: []byte("[1]")}
		}), field: "spec.values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := fluxapp.Parse(tt.app)
			var field *fluxapp.FieldError
			g.Expect(errors.As(err, &field)).To(BeTrue())
			g.Expect(field.Field).To(Equal(tt.field))
		})
	}
}
