// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp

import (
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selected returns the version that spec.chart.version stands for now, as far
// as it is known: the exact one, the one that the ImagePolicy selected for the
// present repository and constraint, or, where source-controller selects, the
// one that helm-controller last took from it. The error is that the policy
// selected what must not be deployed.
func (i Intent) Selected(observed Objects) (string, error) {
	switch {
	case i.Selects():
		tag, known := i.selectedTag(observed)
		if !known {
			return "", nil
		}
		return i.Version.OfTag(tag)
	case i.Version.Constrained() || i.Version.Latest():
		if release := observed.HelmRelease; release != nil && i.releaseOfSpec(observed) {
			return release.Status.LastAttemptedRevision, nil
		}
		return "", nil
	default:
		return i.Version.Text(), nil
	}
}

// releaseVersion is the version, or the constraint, to write into the
// HelmRelease. While the policy has not selected one, the release keeps the
// version it has, so that other fields can still change; but not if that
// version is of another chart.
func (i Intent) releaseVersion(observed Objects) (string, bool) {
	if !i.Selects() {
		return i.Version.Text(), true
	}
	if version, err := i.Selected(observed); err == nil && version != "" {
		return version, true
	}
	if i.releaseOfSpec(observed) && completeVersion.MatchString(observed.HelmRelease.Spec.Chart.Spec.Version) {
		return observed.HelmRelease.Spec.Chart.Spec.Version, true
	}
	return "", false
}

// selectedTag trusts an ImagePolicy only if what it says is about its present
// spec and about the image that the repository scans now: when the chart's
// address changes the policy does not, and for a moment it still names a tag
// of the old image.
func (i Intent) selectedTag(observed Objects) (string, bool) {
	policy, repository := observed.ImagePolicy, observed.ImageRepository
	if policy == nil || repository == nil || policy.Status.LatestRef == nil {
		return "", false
	}
	if repository.Spec.Image != i.Repository.Image || policySpecRange(policy) != i.Version.Text() {
		return "", false
	}
	ready := apimeta.FindStatusCondition(policy.Status.Conditions, fluxmeta.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionTrue || !speaksOf(ready, policy) {
		return "", false
	}
	name := policy.Status.LatestRef.Name
	return policy.Status.LatestRef.Tag, name == repository.Spec.Image || name == repository.Status.CanonicalImageName &&
		repository.Status.ObservedGeneration == repository.Generation
}

// releaseOfSpec tells whether the HelmRelease and its HelmRepository, as they
// were seen, are about the chart that the spec names now.
func (i Intent) releaseOfSpec(observed Objects) bool {
	release, repository := observed.HelmRelease, observed.HelmRepository
	return release != nil && release.Spec.Chart != nil && release.Spec.Chart.Spec.Chart == i.Repository.Chart &&
		repository != nil && repository.Spec.URL == i.Repository.URL
}

func policySpecRange(policy *imagev1.ImagePolicy) string {
	if policy.Spec.Policy.SemVer == nil {
		return ""
	}
	return policy.Spec.Policy.SemVer.Range
}
