// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/isometry/wavefront-controller/internal/fluxapp"
)

// selectedObjects is what is seen once the image objects have selected a tag
// and the release of it works.
func selectedObjects(intent fluxapp.Intent, tag string) fluxapp.Objects {
	objects := intent.Desired(fluxapp.Objects{})
	if intent.Selects() {
		objects.ImageRepository.Generation = 1
		objects.ImageRepository.Status.Conditions = []metav1.Condition{ready(1, metav1.ConditionTrue, "Succeeded", "found 3 tags")}
		objects.ImagePolicy.Generation = 1
		objects.ImagePolicy.Status.Conditions = []metav1.Condition{ready(1, metav1.ConditionTrue, "Succeeded", "resolved")}
		objects.ImagePolicy.Status.LatestRef = &imagev1.ImageRef{Name: objects.ImageRepository.Spec.Image, Tag: tag}
		helm := intent.Desired(objects)
		objects.HelmRepository, objects.HelmRelease = helm.HelmRepository, helm.HelmRelease
	}
	if objects.HelmRelease != nil {
		objects.HelmRelease.Generation = 1
		objects.HelmRelease.Status.Conditions = []metav1.Condition{ready(1, metav1.ConditionTrue, "InstallSucceeded", "installed")}
		objects.HelmRelease.Status.LastAttemptedRevision = tag
	}
	if !intent.Repository.OCI() {
		objects.HelmRepository.Generation = 1
		objects.HelmRepository.Status.Conditions = []metav1.Condition{ready(1, metav1.ConditionTrue, "Succeeded", "stored")}
	}
	return objects
}

func ready(generation int64, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Ready", ObservedGeneration: generation, Status: status, Reason: reason, Message: message}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	failed := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{ready(1, metav1.ConditionFalse, reason, message)}
	}
	tests := []struct {
		name       string
		repository string
		version    string
		change     func(*fluxapp.Objects)
		want       fluxapp.Verdict
	}{
		{name: "all is well", want: fluxapp.Verdict{State: fluxapp.Ready, Reason: "InstallSucceeded", Message: "installed"}},
		{name: "nothing was seen", change: func(o *fluxapp.Objects) { *o = fluxapp.Objects{} },
			want: fluxapp.Verdict{State: fluxapp.Progressing, Reason: "Progressing", Message: "waiting for ImageRepository team/example"}},
		{name: "unauthorised", change: func(o *fluxapp.Objects) {
			o.ImageRepository.Status.Conditions = failed("ReadOperationFailed", "UNAUTHORIZED")
		}, want: fluxapp.Verdict{State: fluxapp.Failed, Reason: "ReadOperationFailed", Message: "ImageRepository team/example: UNAUTHORIZED"}},
		{name: "no tag matches, while an earlier release works", change: func(o *fluxapp.Objects) {
			o.ImagePolicy.Status.Conditions = failed("Failure", "no tag")
		}, want: fluxapp.Verdict{State: fluxapp.Failed, Reason: "Failure", Message: "ImagePolicy team/example: no tag"}},
		{name: "the policy speaks of an older spec", change: func(o *fluxapp.Objects) { o.ImagePolicy.Generation = 2 },
			want: fluxapp.Verdict{State: fluxapp.Progressing, Reason: "Progressing", Message: "waiting for ImagePolicy team/example"}},
		{name: "the policy speaks of another image", change: func(o *fluxapp.Objects) { o.ImagePolicy.Status.LatestRef.Name = "elsewhere/podinfo" },
			want: fluxapp.Verdict{State: fluxapp.Progressing, Reason: "Progressing",
				Message: "waiting for ImagePolicy team/example to select a version of ghcr.io/stefanprodan/charts/podinfo"}},
		{name: "the policy selected what is not asked for", change: func(o *fluxapp.Objects) { o.ImagePolicy.Status.LatestRef.Tag = "7.0.0" },
			want: fluxapp.Verdict{State: fluxapp.Failed, Reason: "VersionRejected", Message: `the selected tag "7.0.0" does not satisfy "~> 6"`}},
		{name: "the release failed", change: func(o *fluxapp.Objects) {
			o.HelmRelease.Status.Conditions = failed("InstallFailed", "Helm install failed: boom")
		}, want: fluxapp.Verdict{State: fluxapp.Failed, Reason: "InstallFailed", Message: "Helm install failed: boom"}},
		{name: "the release gave up", change: func(o *fluxapp.Objects) {
			o.HelmRelease.Status.Conditions = append(failed("InstallFailed", "boom"), metav1.Condition{
				Type: "Stalled", Status: metav1.ConditionTrue, ObservedGeneration: 1, Reason: "RetriesExceeded", Message: "failed to install after 1 attempt"})
		}, want: fluxapp.Verdict{State: fluxapp.Stalled, Reason: "RetriesExceeded", Message: "failed to install after 1 attempt"}},
		{name: "the release is under way", change: func(o *fluxapp.Objects) {
			o.HelmRelease.Status.Conditions = []metav1.Condition{ready(1, metav1.ConditionUnknown, "Progressing", "running 'upgrade'")}
		}, want: fluxapp.Verdict{State: fluxapp.Progressing, Reason: "Progressing", Message: "running 'upgrade'"}},
		{name: "the release was suspended by hand", change: func(o *fluxapp.Objects) {
			o.HelmRelease.Generation, o.HelmRelease.Spec.Suspend = 2, true
		}, want: fluxapp.Verdict{State: fluxapp.Ready, Reason: "InstallSucceeded", Message: "installed"}},
		{name: "the index of a chart repository cannot be fetched", repository: httpChart, change: func(o *fluxapp.Objects) {
			o.HelmRepository.Status.Conditions = failed("Failed", "no such host")
		}, want: fluxapp.Verdict{State: fluxapp.Failed, Reason: "Failed", Message: "HelmRepository team/example: no such host"}},
		{name: "an OCI HelmRepository has no status to ask for", version: "6.5.4",
			want: fluxapp.Verdict{State: fluxapp.Ready, Reason: "InstallSucceeded", Message: "installed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			intent := parse(g, newApp(orElse(tt.repository, ociChart), orElse(tt.version, "~> 6")))
			observed := selectedObjects(intent, "6.5.4")
			if tt.change != nil {
				tt.change(&observed)
			}
			g.Expect(intent.Judge(observed)).To(Equal(tt.want))
		})
	}
}

func TestReleaseKeepsItsVersionWhileNoneIsSelected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	intent := parse(g, newApp(ociChart, "~> 6"))
	observed := selectedObjects(intent, "6.5.4")
	observed.ImagePolicy.Status.Conditions[0].Status = metav1.ConditionFalse
	observed.ImagePolicy.Status.LatestRef.Tag = "6.9.0"

	desired := intent.Desired(observed)
	g.Expect(desired.HelmRelease.Spec.Chart.Spec.Version).To(Equal("6.5.4"))

	other := parse(g, newApp("oci://ghcr.io/stefanprodan/charts/other", "~> 6"))
	desired = other.Desired(observed)
	g.Expect(desired.HelmRelease).To(BeNil(), "the version of another chart says nothing")
	g.Expect(desired.HelmRepository).To(BeNil())

	unversioned := observed
	unversioned.HelmRelease = observed.HelmRelease.DeepCopy()
	unversioned.HelmRelease.Spec.Chart.Spec.Version = "*"
	g.Expect(intent.Desired(unversioned).HelmRelease).To(BeNil(), "a constraint is no version to keep")
}

func TestSelected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	constrained := parse(g, newApp(ociChart, "~> 6"))
	g.Expect(constrained.Selected(fluxapp.Objects{})).To(BeEmpty())
	g.Expect(constrained.Selected(selectedObjects(constrained, "6.5.4_b1"))).To(Equal("6.5.4+b1"))

	exact := parse(g, newApp(ociChart, "6.5.4"))
	g.Expect(exact.Selected(fluxapp.Objects{})).To(Equal("6.5.4"))

	overHTTP := parse(g, newApp(httpChart, "~> 6"))
	g.Expect(overHTTP.Selected(fluxapp.Objects{})).To(BeEmpty())
	g.Expect(overHTTP.Selected(selectedObjects(overHTTP, "6.5.4"))).To(Equal("6.5.4"))
}

func TestAppliedVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(fluxapp.AppliedVersion(nil)).To(BeEmpty())
	release := &helmv2.HelmRelease{}
	g.Expect(fluxapp.AppliedVersion(release)).To(BeEmpty())
	release.Status.History = helmv2.Snapshots{
		{Version: 3, Status: "failed", ChartVersion: "6.5.5"},
		{Version: 2, Status: "deployed", ChartVersion: "6.5.4"},
		{Version: 1, Status: "superseded", ChartVersion: "6.5.3"},
		nil,
	}
	g.Expect(fluxapp.AppliedVersion(release)).To(Equal("6.5.4"))
}

func orElse(value, other string) string {
	if value == "" {
		return other
	}
	return value
}
