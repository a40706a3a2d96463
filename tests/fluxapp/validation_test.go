// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp"
	"github.com/isometry/wavefront-controller/tests/env"
)

// What the API server refuses, the controller refuses too, for objects that are
// older than the rule; and both say what to write instead.
func TestValidationExplainsItself(t *testing.T) {
	t.Parallel()
	e := env.Shared(t)
	namespace := e.Namespace(t, "validation")
	chart := func(repository, version string) func(*fluxappv1.FluxApp) {
		return func(app *fluxappv1.FluxApp) {
			app.Spec.Chart = fluxappv1.ChartSpec{Repository: repository, Version: version}
		}
	}
	version := func(version string) func(*fluxappv1.FluxApp) { return chart("oci://ghcr.io/charts/podinfo", version) }
	tests := []struct {
		name   string
		change func(*fluxappv1.FluxApp)
		want   string
	}{
		{name: "no scheme", change: chart("ghcr.io/charts/podinfo", "*"), want: "must start with oci://, https:// or http://"},
		{name: "another scheme", change: chart("ftp://host/podinfo", "*"), want: "must start with oci://, https:// or http://"},
		{name: "no chart", change: chart("oci://ghcr.io", "*"), want: "names no chart"},
		{name: "nothing behind the slash", change: chart("oci://ghcr.io/charts/", "*"), want: "names no chart"},
		{name: "no chart over HTTP", change: chart("https://charts.local", "*"), want: "names no chart"},
		{name: "credentials", change: chart("https://u:p@charts.local/podinfo", "*"), want: "must not carry credentials"},
		{name: "query", change: chart("https://charts.local/podinfo?x=y", "*"), want: "must not contain a query"},
		{name: "white space", change: chart("https://charts.local/pod info", "*"), want: "must not contain a query, a fragment or white space"},
		{name: "tag", change: chart("oci://ghcr.io/charts/podinfo:6.0.0", "*"), want: "must not contain a tag or a digest"},
		{name: "digest", change: chart("oci://ghcr.io/charts/podinfo@sha256:00", "*"), want: "must not contain a tag or a digest"},
		{name: "upper case", change: chart("oci://ghcr.io/Charts/podinfo", "*"), want: "must be of lower-case letters"},
		{name: "no version", change: version("newest"), want: "latest"},
		{name: "no constraint", change: version("~> six"), want: "a constraint ('~> 6', '>=1.2 <2', '1.x || 2.x')"},
		{name: "half a constraint", change: version("1.x ||"), want: "a constraint ('~> 6', '>=1.2 <2', '1.x || 2.x')"},
		{name: "half a range", change: version("1.2 -"), want: "a constraint ('~> 6', '>=1.2 <2', '1.x || 2.x')"},
		{name: "a plus in a constraint", change: version("~1.2.3+build"), want: "may contain a '+' only if it is one complete version"},
		{name: "a plus in half a version", change: version("1.2+build"), want: "may contain a '+' only if it is one complete version"},
		{name: "a tag's underscore", change: version("1.2.3_build"), want: "write the '+'"},
		{name: "provider over HTTP", change: func(app *fluxappv1.FluxApp) {
			chart("https://charts.local/podinfo", "*")(app)
			app.Spec.Provider = "aws"
		}, want: "is only for an oci:// repository"},
		{name: "account over HTTP", change: func(app *fluxappv1.FluxApp) {
			chart("https://charts.local/podinfo", "*")(app)
			app.Spec.ServiceAccountName = "puller"
		}, want: "is only for an oci:// repository"},
		{name: "two logins", change: func(app *fluxappv1.FluxApp) {
			app.Spec.Provider, app.Spec.SecretRef = "gcp", &fluxmeta.LocalObjectReference{Name: "login"}
		}, want: "two ways to log in to one registry"},
		{name: "long name", change: func(app *fluxappv1.FluxApp) { app.Name = strings.Repeat("a", 54) }, want: "must be no longer than 53 characters"},
		{name: "values that are no object", change: func(app *fluxappv1.FluxApp) {
			app.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`"text"`)}
		}, want: "must be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			app := validApp(namespace)
			tt.change(app)
			_, err := fluxapp.Parse(app)
			g.Expect(err).To(HaveOccurred(), "the controller accepts it")
			if tt.name != "values that are no object" {
				g.Expect(err.Error()).To(ContainSubstring(tt.want))
			}
			err = e.Client().Create(t.Context(), app, client.DryRunAll)
			g.Expect(err).To(MatchError(ContainSubstring(tt.want)), "the API server accepts it, or says something else")
		})
	}
}

// One stored interval that no client can decode would end every list of FluxApps, and
// with it the controller, Wavefronts included. One that is too short has the controller
// do nothing else.
func TestIntervalCanBeKept(t *testing.T) {
	t.Parallel()
	e := env.Shared(t)
	namespace := e.Namespace(t, "interval")
	for interval, want := range map[string]string{
		"9999999999h": "evaluating rule", "1" + strings.Repeat("0", 40) + "s": "Too long",
		"1ms": "at least 1s", "0s": "at least 1s", "1s": "", "1h30m": "", "1.5h": "", "2500000h": "",
	} {
		g := NewWithT(t)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(validApp(namespace))
		g.Expect(err).NotTo(HaveOccurred())
		app := &unstructured.Unstructured{Object: content}
		app.SetGroupVersionKind(fluxappv1.GroupVersion.WithKind(fluxappv1.FluxAppKind))
		g.Expect(unstructured.SetNestedField(app.Object, interval, "spec", "interval")).To(Succeed())
		err = e.Client().Create(t.Context(), app, client.DryRunAll)
		if want == "" {
			g.Expect(err).NotTo(HaveOccurred(), interval)
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring(want)), interval)
	}
}

func TestValidationAccepts(t *testing.T) {
	t.Parallel()
	e := env.Shared(t)
	namespace := e.Namespace(t, "valid")
	repositories := []string{
		"oci://ghcr.io/stefanprodan/charts/podinfo", "oci://127.0.0.1:5000/podinfo", "oci://[::1]:5000/a/b-c__d.e",
		"https://stefanprodan.github.io/podinfo/podinfo", "http://charts.local:8080/Podinfo",
	}
	versions := []string{
		"", "*", "latest", "6", "6.5", "6.5.4", "v6.5.4", "6.5.4-rc.1", "6.5.4+build.7", "6.5.4-rc.1+build.7",
		"~> 6", "~1.2.3", "^1", ">=1.2 <2", ">= 1.2, < 2", "1.x || >=2.1.0-0, <3", "1.2 - 1.4.5", "!=1.5.0", "=6.5.4", "x",
	}
	for _, repository := range repositories {
		for _, version := range versions {
			g := NewWithT(t)
			app := validApp(namespace)
			app.Spec.Chart = fluxappv1.ChartSpec{Repository: repository, Version: version}
			_, err := fluxapp.Parse(app)
			g.Expect(err).NotTo(HaveOccurred(), "%s %s", repository, version)
			g.Expect(e.Client().Create(t.Context(), app, client.DryRunAll)).To(Succeed(), "%s %s", repository, version)
		}
	}
}

func validApp(namespace string) *fluxappv1.FluxApp {
	return &fluxappv1.FluxApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"},
		Spec:       fluxappv1.FluxAppSpec{Chart: fluxappv1.ChartSpec{Repository: "oci://ghcr.io/charts/podinfo"}},
	}
}

// The API server fills in the defaults, and a status that nobody wrote claims
// to have observed nothing.
func TestDefaultsOfTheAPI(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)
	app := validApp(e.Namespace(t, "defaults"))
	g.Expect(e.Client().Create(t.Context(), app, client.DryRunAll)).To(Succeed())
	g.Expect(app.Spec.Chart.Version).To(Equal("*"))
	g.Expect(app.Spec.Interval.Duration).To(Equal(fluxappv1.DefaultInterval))
	g.Expect(app.Status.ObservedGeneration).To(Equal(int64(-1)))
}

// A spec that the API server would refuse today stalls, and recovers when it is
// corrected.
func TestInvalidSpecStalls(t *testing.T) {
	t.Parallel()
	p := sharedSuite(t).place(t, "invalid")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	// Leading zeros pass the API server's rule, which is coarser.
	app := p.app(t, "example", charts.chartURL("podinfo"), "06.0.0")
	p.expectFailed(t, app, "InvalidSpec", "spec.chart.version", `"06.0.0" is not a semantic version`)
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Chart.Version = "6.0.0" })
	p.expectReady(t, app, "6.0.0")
}
