// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

func TestOwnershipOf(t *testing.T) {
	t.Parallel()

	update := entry(ours, base, "spec", "ref", "commit")
	update.Operation = metav1.ManagedFieldsOperationUpdate
	status := entry("source-controller", base, "spec", "ref", "commit")
	status.Subresource = "status"
	broken := entry(edit, base, "spec", "ref", "commit")
	broken.FieldsV1 = metav1.NewFieldsV1("{")
	empty := entry(edit, base, "spec", "ref", "commit")
	empty.FieldsV1 = nil
	timeless := entry(edit, base, "spec", "ref", "commit")
	timeless.Time = nil

	tests := []struct {
		name     string
		entries  []metav1.ManagedFieldsEntry
		expected Ownership
	}{
		{name: "nobody"},
		{
			name:    "a manager of the branch claims no commit",
			entries: []metav1.ManagedFieldsEntry{entry(flux, base, "spec", "ref", "branch")},
		},
		{
			name:     "ours",
			entries:  []metav1.ManagedFieldsEntry{entry(ours, base, "spec", "ref", "commit")},
			expected: Ownership{Ours: true},
		},
		{
			name: "shared, the others sorted",
			entries: []metav1.ManagedFieldsEntry{
				entry(flux, base, "spec", "ref", "commit"),
				entry(ours, base, "spec", "ref", "commit"),
				entry(edit, base, "spec", "ref", "commit"),
			},
			expected: Ownership{Ours: true, Foreign: []Claimant{
				{Manager: edit, Time: metav1.NewTime(base)}, {Manager: flux, Time: metav1.NewTime(base)},
			}},
		},
		{
			name: "one manager by two operations, the older claim counts",
			entries: []metav1.ManagedFieldsEntry{
				entry(edit, base.Add(time.Minute), "spec", "ref", "commit"),
				entry(edit, base, "spec", "ref", "commit"),
			},
			expected: Ownership{Foreign: []Claimant{{Manager: edit, Time: metav1.NewTime(base)}}},
		},
		{
			name:     "a claim without a time",
			entries:  []metav1.ManagedFieldsEntry{timeless},
			expected: Ownership{Foreign: []Claimant{{Manager: edit}}},
		},
		{
			name:     "an update under our name is not ours",
			entries:  []metav1.ManagedFieldsEntry{update},
			expected: Ownership{Foreign: []Claimant{{Manager: ours, Time: metav1.NewTime(base)}}},
		},
		{name: "a subresource claims nothing", entries: []metav1.ManagedFieldsEntry{status}},
		{name: "what can't be read claims nothing", entries: []metav1.ManagedFieldsEntry{broken, empty}},
		{
			name: "annotations, ours and foreign",
			entries: []metav1.ManagedFieldsEntry{
				entry(ours, base, "metadata", "annotations", wavefrontv1.OwnerAnnotation),
				entry(edit, base, "metadata", "annotations", wavefrontv1.PinnedCommitAnnotation),
				entry(edit, base, "metadata", "annotations", "example.com/other"),
			},
			expected: Ownership{
				Annotations:        []string{wavefrontv1.OwnerAnnotation},
				ForeignAnnotations: map[string][]string{wavefrontv1.PinnedCommitAnnotation: {edit}},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(OwnershipOf(tt.entries)).To(Equal(tt.expected))
		})
	}
}

func TestHeldBy(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, text, manager string
		at                  time.Time
	}{
		{name: "what we write", text: HeldBy(edit, base), manager: edit, at: base},
		{name: "a manager of several words", text: "a since b since 2026-03-04T05:06:07Z", manager: "a since b", at: base},
		{name: "no time", text: "somebody", manager: "somebody"},
		{name: "no real time", text: "somebody since yesterday", manager: "somebody since yesterday"},
		{name: "nothing", text: "", manager: ""},
		{name: "too long for a manager", text: strings.Repeat("m", 1<<17), manager: strings.Repeat("m", 128)},
		{
			name: "too long for a manager, with a time", text: strings.Repeat("ü", 65) + "m since 2026-03-04T05:06:07Z",
			manager: strings.Repeat("ü", 64), at: base,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			manager, at := ParseHeldBy(tt.text)
			g.Expect(manager).To(Equal(tt.manager))
			g.Expect(at).To(BeTemporally("==", tt.at))
		})
	}
}
