// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestSource(t *testing.T) {
	t.Parallel()

	type change = func(*sourcev1.GitRepository)
	floating := fleet.Source{
		ID: GitRepositoryID("apps", "repo"), UID: "apps/repo", Managed: true, URL: testURL, Ref: testRef,
		Generation: 3, ObservedGeneration: 3, Timeout: time.Minute,
		Artifact: fleet.Revision(commitA), ArtifactAt: base,
	}
	pinned := floating
	pinned.Pin, pinned.Record, pinned.Owner = fleet.Revision(commitA), fleet.Revision(commitA), "fleet"
	pinned.Reconciled, pinned.Initial, pinned.PinnedAt = true, true, base
	notInitial := func(s *fleet.Source) { s.Initial, s.PinnedAt = false, time.Time{} }
	void := func(s *fleet.Source) {
		s.Record, s.VoidRecord = "", true
		notInitial(s)
	}

	tests := []struct {
		name     string
		changes  []change
		from     fleet.Source
		expected func(*fleet.Source)
	}{
		{name: "floating", from: floating},
		{name: "not managed", changes: []change{func(g *sourcev1.GitRepository) { g.Labels = nil }}, from: floating,
			expected: func(s *fleet.Source) { s.Managed = false }},
		{name: "managed by another value of the label", changes: []change{func(g *sourcev1.GitRepository) {
			g.Labels[wavefrontv1.ManagedLabel] = "yes"
		}}, from: floating, expected: func(s *fleet.Source) { s.Managed = false }},
		{name: "a style that is not sequenced", changes: []change{func(g *sourcev1.GitRepository) {
			g.Spec.Reference.SemVer = "1.x"
		}}, from: floating, expected: func(s *fleet.Source) { s.Ref, s.RefStyle = "", "semver: 1.x" }},
		{name: "no reference at all", changes: []change{func(g *sourcev1.GitRepository) { g.Spec.Reference = nil }}, from: floating,
			expected: func(s *fleet.Source) { s.Ref = "refs/heads/master" }},
		{name: "no artifact", changes: []change{func(g *sourcev1.GitRepository) { g.Status.Artifact = nil }}, from: floating,
			expected: func(s *fleet.Source) { s.Artifact, s.ArtifactAt = "", time.Time{} }},
		{name: "trouble", changes: []change{func(g *sourcev1.GitRepository) {
			g.Spec.Suspend = true
			g.Spec.Timeout = &metav1.Duration{Duration: time.Hour}
			g.Status.Conditions = append(readyCondition(metav1.ConditionFalse), metav1.Condition{
				Type: sourcev1.FetchFailedCondition, Status: metav1.ConditionTrue,
			})
		}}, from: floating, expected: func(s *fleet.Source) {
			s.Suspended, s.FetchFailed, s.Timeout = true, true, time.Hour
			s.Ready = fleet.Condition{Status: fleet.False, Reason: "Reason", Message: "message", ObservedGeneration: 2, Since: base}
		}},
		{name: "pinned for the first time", changes: []change{pinnedAt(commitA)}, from: pinned},
		{name: "advanced", changes: []change{pinnedAt(commitA), annotated(wavefrontv1.PreviousPinAnnotation, commitB)},
			from: pinned, expected: notInitial},
		{name: "pinned in upper case", changes: []change{pinnedAt("AAAA" + commitA[4:])}, from: pinned},
		{name: "the moment of the pin can't be read", changes: []change{pinnedAt(commitA), annotated(wavefrontv1.AdmittedAtAnnotation, "now")},
			from: pinned, expected: func(s *fleet.Source) { s.PinnedAt = time.Time{} }},
		{name: "a record of another commit", changes: []change{pinnedAt(commitA), annotated(wavefrontv1.PinnedCommitAnnotation, commitB)},
			from: pinned, expected: func(s *fleet.Source) {
				s.Record = fleet.Revision(commitB)
				notInitial(s)
			}},
		{name: "a record made for another branch", changes: []change{pinnedAt(commitA), annotated(wavefrontv1.ObservedRefAnnotation, "refs/heads/old")},
			from: pinned, expected: void},
		{name: "a record made for another URL", changes: []change{pinnedAt(commitA), annotated(wavefrontv1.ObservedURLAnnotation, "https://old")},
			from: pinned, expected: void},
		{name: "user information is no part of the URL's identity", changes: []change{pinnedAt(commitA), func(g *sourcev1.GitRepository) {
			g.Spec.URL = "https://user@git.example.com/repo"
		}}, from: pinned, expected: func(s *fleet.Source) { s.URL = "https://user@git.example.com/repo" }},
		{name: "not yet reconciled at this generation", changes: []change{pinnedAt(commitA), func(g *sourcev1.GitRepository) { g.Generation = 4 }},
			from: pinned, expected: func(s *fleet.Source) { s.Reconciled, s.Generation = false, 4 }},
		{name: "not yet reconciled at this pin", changes: []change{pinnedAt(commitB)}, from: pinned, expected: func(s *fleet.Source) {
			s.Reconciled, s.Pin, s.Record = false, fleet.Revision(commitB), fleet.Revision(commitB)
		}},
		{name: "observed, but stalled", changes: []change{pinnedAt(commitA), func(g *sourcev1.GitRepository) {
			g.Status.Conditions = []metav1.Condition{{Type: fluxmeta.StalledCondition, Status: metav1.ConditionTrue}}
		}}, from: pinned, expected: func(s *fleet.Source) { s.Reconciled = false }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.from
			if tt.expected != nil {
				tt.expected(&want)
			}
			NewWithT(t).Expect(Source(aGitRepository(tt.changes...))).To(Equal(want))
		})
	}
}

// TestConditionsHideUserInformation: what Flux says of a source is passed on to people
// who may not read the source.
func TestConditionsHideUserInformation(t *testing.T) {
	t.Parallel()
	s := Source(aGitRepository(func(g *sourcev1.GitRepository) {
		g.Status.Conditions = readyCondition(metav1.ConditionFalse)
		g.Status.Conditions[0].Message = "unable to clone 'https://user:secret@git.example.com/repo': refused"
	}))
	NewWithT(t).Expect(s.Ready.Message).To(Equal("unable to clone 'https://git.example.com/repo': refused"))
}
