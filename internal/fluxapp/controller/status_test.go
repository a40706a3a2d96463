// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp"
)

func TestMarkVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		state fluxapp.State
		want  []metav1.Condition
	}{
		{state: fluxapp.Ready, want: []metav1.Condition{*conditions.TrueCondition(fluxmeta.ReadyCondition, "Why", "what")}},
		{state: fluxapp.Progressing, want: []metav1.Condition{
			*conditions.TrueCondition(fluxmeta.ReconcilingCondition, "Why", "what"),
			*conditions.UnknownCondition(fluxmeta.ReadyCondition, "Why", "what")}},
		{state: fluxapp.Failed, want: []metav1.Condition{
			*conditions.TrueCondition(fluxmeta.ReconcilingCondition, "ProgressingWithRetry", "what"),
			*conditions.FalseCondition(fluxmeta.ReadyCondition, "Why", "what")}},
		{state: fluxapp.Stalled, want: []metav1.Condition{
			*conditions.TrueCondition(fluxmeta.StalledCondition, "Why", "what"),
			*conditions.FalseCondition(fluxmeta.ReadyCondition, "Why", "what")}},
	}
	for _, before := range tests {
		for _, tt := range tests {
			g := NewWithT(t)
			app := &fluxappv1.FluxApp{}
			markVerdict(app, fluxapp.Verdict{State: before.state, Reason: "Before", Message: "before"})
			markVerdict(app, fluxapp.Verdict{State: tt.state, Reason: "Why", Message: "what"})
			g.Expect(app.Status.Conditions).To(conditions.MatchConditions(tt.want), "from %d to %d", before.state, tt.state)
		}
	}
}

func TestVerdictOfFailures(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cause := errors.New("cause")
	g.Expect(verdictOf(&scope{}, &stepError{reason: fluxappv1.ReasonInvalidSpec, stalled: true, cause: cause})).
		To(Equal(fluxapp.Verdict{State: fluxapp.Stalled, Reason: "InvalidSpec", Message: "cause"}))
	g.Expect(verdictOf(&scope{}, &stepError{reason: fluxappv1.ReasonPruneFailed, cause: cause})).
		To(Equal(fluxapp.Verdict{State: fluxapp.Failed, Reason: "PruneFailed", Message: "cause"}))
	g.Expect(verdictOf(&scope{}, cause)).
		To(Equal(fluxapp.Verdict{State: fluxapp.Failed, Reason: "ApplyFailed", Message: "cause"}))
}

func TestAnnouncements(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := newAnnouncements()
	app := &fluxappv1.FluxApp{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "example", UID: "uid"}}
	app.Status.LatestVersion = "6.0.0"
	g.Expect(a.newVersion(app, "6.0.0")).To(BeFalse(), "the status says that it was announced")
	g.Expect(a.newVersion(app, "6.1.0")).To(BeTrue())
	g.Expect(a.newVersion(app, "6.1.0")).To(BeFalse(), "even if the status in the cache is older")

	failed := func(reason, message string) metav1.Condition {
		return *conditions.FalseCondition(fluxmeta.ReadyCondition, reason, "%s", message)
	}
	g.Expect(a.newCondition(app, *conditions.TrueCondition(fluxmeta.ReadyCondition, "InstallSucceeded", "installed"))).To(BeTrue())
	g.Expect(a.newCondition(app, failed("SourceNotReady", "not reconciled yet"))).To(BeFalse(), "waiting is no failure")
	g.Expect(a.newCondition(app, failed("SourceNotReady", "not reconciled yet"))).To(BeFalse())
	g.Expect(a.newCondition(app, failed("SourceNotReady", "pull error"))).To(BeTrue())
	g.Expect(a.newCondition(app, failed("InstallFailed", "boom"))).To(BeTrue())
	g.Expect(a.newCondition(app, failed("InstallFailed", "boom"))).To(BeFalse())

	a.forget(appKey)
	recreated := app.DeepCopy()
	recreated.UID, recreated.Status = "other", fluxappv1.FluxAppStatus{}
	g.Expect(a.newVersion(recreated, "6.1.0")).To(BeTrue())
}

func TestCut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(cut("short")).To(Equal("short"))
	long := cut(strings.Repeat("é", maxNote))
	g.Expect(len(long)).To(BeNumerically("<=", maxNote))
	g.Expect(strings.ToValidUTF8(long, "?")).To(Equal(long))
	g.Expect(long).To(HaveSuffix("..."))
}
