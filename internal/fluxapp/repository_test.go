// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fluxapp"
)

func TestParseRepository(t *testing.T) {
	t.Parallel()
	tests := []struct {
		address string
		want    fluxapp.Repository
		wantErr string
	}{
		{address: "oci://ghcr.io/stefanprodan/charts/podinfo", want: fluxapp.Repository{
			URL: "oci://ghcr.io/stefanprodan/charts", Chart: "podinfo", Image: "ghcr.io/stefanprodan/charts/podinfo"}},
		{address: "oci://127.0.0.1:5000/podinfo", want: fluxapp.Repository{
			URL: "oci://127.0.0.1:5000", Chart: "podinfo", Image: "127.0.0.1:5000/podinfo"}},
		{address: "oci://[::1]:5000/team/my-chart", want: fluxapp.Repository{
			URL: "oci://[::1]:5000/team", Chart: "my-chart", Image: "[::1]:5000/team/my-chart"}},
		{address: "https://stefanprodan.github.io/podinfo/podinfo", want: fluxapp.Repository{
			URL: "https://stefanprodan.github.io/podinfo", Chart: "podinfo"}},
		{address: "http://charts.local/Podinfo", want: fluxapp.Repository{URL: "http://charts.local", Chart: "Podinfo"}},
		{address: "", wantErr: "must start with oci://"},
		{address: "ghcr.io/stefanprodan/charts/podinfo", wantErr: "must start with oci://"},
		{address: "ftp://host/podinfo", wantErr: "must start with oci://"},
		{address: "oci://ghcr.io", wantErr: "names no chart"},
		{address: "oci://ghcr.io/", wantErr: "names no chart"},
		{address: "oci://ghcr.io/charts/", wantErr: "names no chart"},
		{address: "https://charts.local/../podinfo", wantErr: "names no chart"},
		{address: "https://charts.local//podinfo", wantErr: "names no chart"},
		{address: "oci:///podinfo", wantErr: "no valid host"},
		{address: "https://host:port/podinfo", wantErr: "no valid host"},
		{address: "oci://ghcr.io/charts/podinfo:6.0.0", wantErr: "must not contain a tag or a digest"},
		{address: "oci://ghcr.io/charts/podinfo@sha256:00", wantErr: "must not contain a tag or a digest"},
		{address: "oci://ghcr.io/Charts/podinfo", wantErr: "lower-case"},
		{address: "oci://ghcr.io/charts/pod--_info", wantErr: "lower-case"},
		{address: "https://bob:secret@charts.local/podinfo", wantErr: "must not carry credentials"},
		{address: "oci://bob:secret@ghcr.io/podinfo", wantErr: "must not carry credentials"},
		{address: "https://charts.local/podinfo?token=secret", wantErr: "must not contain a query"},
		{address: "https://charts.local/pod info", wantErr: "white space"},
		{address: "https://charts.local/podinfo#x", wantErr: "fragment"},
	}
	for _, tt := range tests {
		t.Run(tt.address, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := fluxapp.ParseRepository(tt.address)
			if tt.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got).To(Equal(tt.want))
				g.Expect(got.OCI()).To(Equal(strings.HasPrefix(tt.address, "oci://")))
				return
			}
			var field *fluxapp.FieldError
			g.Expect(errors.As(err, &field)).To(BeTrue())
			g.Expect(field.Field).To(Equal("spec.chart.repository"))
			g.Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
			g.Expect(err.Error()).NotTo(ContainSubstring("secret@"))
		})
	}
}

func FuzzParseRepository(f *testing.F) {
	for _, address := range []string{"oci://h/c", "https://h/a/b", "oci://[::1/x", "http://h:x/y", "oci://u:p@h/x"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		repository, err := fluxapp.ParseRepository(address)
		if err == nil && repository.URL+"/"+repository.Chart != address {
			t.Fatalf("%q was taken apart into %+v", address, repository)
		}
	})
}
