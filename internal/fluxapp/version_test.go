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

func TestParseVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text        string
		constrained bool
		want        string
		wantErr     string
	}{
		{text: "", constrained: true, want: "*"},
		{text: "*", constrained: true, want: "*"},
		{text: "~> 6", constrained: true, want: "~> 6"},
		{text: "6", constrained: true, want: "6"},
		{text: "6.5", constrained: true, want: "6.5"},
		{text: ">=1.2 <2", constrained: true, want: ">=1.2 <2"},
		{text: "1.x || >=2.1.0-0, <3", constrained: true, want: "1.x || >=2.1.0-0, <3"},
		{text: "1.2 - 1.4.5", constrained: true, want: "1.2 - 1.4.5"},
		{text: "=6.5.4", constrained: true, want: "=6.5.4"},
		{text: "6.5.4", want: "6.5.4"},
		{text: "v6.5.4", want: "v6.5.4"},
		{text: "6.5.4-rc.1", want: "6.5.4-rc.1"},
		{text: "6.5.4+build.7", want: "6.5.4+build.7"},
		{text: "latest", want: "*"},
		{text: "newest", wantErr: "neither a semantic version"},
		{text: "~> six", wantErr: "neither a semantic version"},
		{text: "1 ||", wantErr: "neither a semantic version"},
		{text: "01.2.3", wantErr: "is not a semantic version"},
		{text: "1.2.3-01", wantErr: "is not a semantic version"},
		{text: "~1.2+build", wantErr: "may contain a '+' only if"},
		{text: ">=1.2.3+build", wantErr: "may contain a '+' only if"},
		{text: strings.Repeat("1 ", 65), wantErr: "no longer than 128"},
		{text: "1.2.3_build", wantErr: "write the '+'"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := fluxapp.ParseVersion(tt.text)
			if tt.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got.Constrained()).To(Equal(tt.constrained))
				g.Expect(got.Text()).To(Equal(tt.want))
				g.Expect(got.Latest()).To(Equal(tt.text == "latest"))
				return
			}
			var field *fluxapp.FieldError
			g.Expect(errors.As(err, &field)).To(BeTrue())
			g.Expect(field.Field).To(Equal("spec.chart.version"))
			g.Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
		})
	}
}

func TestVersionOfTag(t *testing.T) {
	t.Parallel()
	tests := []struct {
		constraint, tag, want, wantErr string
	}{
		{constraint: "~> 6", tag: "6.5.4", want: "6.5.4"},
		{constraint: "~> 6", tag: "v6.5.4", want: "v6.5.4"},
		{constraint: "~> 6", tag: "6.5.4_build.7", want: "6.5.4+build.7"},
		{constraint: "~> 6", tag: "7.0.0", wantErr: "does not satisfy"},
		{constraint: "*", tag: "7.0.0-rc.1", wantErr: "does not satisfy"},
		{constraint: "*", tag: "6.5", wantErr: "not a semantic version"},
		{constraint: "*", tag: "main", wantErr: "not a semantic version"},
	}
	for _, tt := range tests {
		t.Run(tt.constraint+" "+tt.tag, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			version, err := fluxapp.ParseVersion(tt.constraint)
			g.Expect(err).NotTo(HaveOccurred())
			got, err := version.OfTag(tt.tag)
			if tt.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tt.want))
		})
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, text := range []string{"*", "~> 6", "1.2.3+b", "1 - 2", "latest", "x_y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		version, err := fluxapp.ParseVersion(text)
		if err != nil {
			return
		}
		again, err := fluxapp.ParseVersion(version.Text())
		if err != nil || again.Text() != version.Text() {
			t.Fatalf("%q gave %q, which gave %q: %v", text, version.Text(), again.Text(), err)
		}
	})
}
