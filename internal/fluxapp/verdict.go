// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp

import (
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// State is how far a FluxApp, or one of its steps, has come.
type State int

const (
	// Ready: the selected version is deployed and works.
	Ready State = iota
	// Progressing: an answer is awaited.
	Progressing
	// Failed: a step failed, and whoever owns it tries again.
	Failed
	// Stalled: a step failed, and nothing will happen until someone changes
	// something.
	Stalled
)

// Verdict is what the objects say about the whole.
type Verdict struct {
	State   State
	Reason  string
	Message string
}

// Judge goes through the steps in the order in which a version travels, and
// returns what the first says that is not ready. If all are, that is what the
// HelmRelease says.
func (i Intent) Judge(observed Objects) Verdict {
	for _, step := range []func(Objects) *Verdict{
		i.scanned, i.selected, i.fetched, i.released,
	} {
		if verdict := step(observed); verdict != nil {
			return *verdict
		}
	}
	ready := apimeta.FindStatusCondition(observed.HelmRelease.Status.Conditions, fluxmeta.ReadyCondition)
	return Verdict{State: Ready, Reason: ready.Reason, Message: ready.Message}
}

// scanned asks the ImageRepository.
func (i Intent) scanned(observed Objects) *Verdict {
	if !i.Selects() {
		return nil
	}
	if observed.ImageRepository == nil {
		return i.awaited(imagev1.ImageRepositoryKind)
	}
	repository := observed.ImageRepository
	return i.answer(imagev1.ImageRepositoryKind, repository, repository.Status.Conditions, repository.Spec.Suspend)
}

// selected asks the ImagePolicy.
func (i Intent) selected(observed Objects) *Verdict {
	if !i.Selects() {
		return nil
	}
	if observed.ImagePolicy == nil {
		return i.awaited(imagev1.ImagePolicyKind)
	}
	policy := observed.ImagePolicy
	if verdict := i.answer(imagev1.ImagePolicyKind, policy, policy.Status.Conditions, policy.Spec.Suspend); verdict != nil {
		return verdict
	}
	version, err := i.Selected(observed)
	if err != nil {
		return &Verdict{State: Failed, Reason: string(fluxappv1.ReasonVersionRejected), Message: err.Error()}
	}
	if version == "" {
		return i.progressing("waiting for %s to select a version of %s", i.objectName(imagev1.ImagePolicyKind), i.Repository.Image)
	}
	return nil
}

// fetched asks the HelmRepository, but only one over HTTP: source-controller
// keeps no status for an OCI repository.
func (i Intent) fetched(observed Objects) *Verdict {
	if observed.HelmRepository == nil {
		return i.awaited(sourcev1.HelmRepositoryKind)
	}
	if i.Repository.OCI() {
		return nil
	}
	repository := observed.HelmRepository
	return i.answer(sourcev1.HelmRepositoryKind, repository, repository.Status.Conditions, repository.Spec.Suspend)
}

// released asks the HelmRelease. Its words are repeated as they are: it is the
// step that the FluxApp stands for.
func (i Intent) released(observed Objects) *Verdict {
	if observed.HelmRelease == nil {
		return i.awaited(helmv2.HelmReleaseKind)
	}
	release := observed.HelmRelease
	return i.answer(helmv2.HelmReleaseKind, release, release.Status.Conditions, release.Spec.Suspend)
}

// answer reads the conditions of one step. It is nil if the step is ready. A
// condition about an older generation is no answer, unless the object is
// suspended, for then nobody will speak of the present one.
func (i Intent) answer(kind string, object metav1.Object, conditions []metav1.Condition, suspended bool) *Verdict {
	ready := apimeta.FindStatusCondition(conditions, fluxmeta.ReadyCondition)
	if ready == nil || (!suspended && !speaksOf(ready, object)) {
		return i.awaited(kind)
	}
	stalled := apimeta.FindStatusCondition(conditions, fluxmeta.StalledCondition)
	switch {
	case stalled != nil && stalled.Status == metav1.ConditionTrue && (suspended || speaksOf(stalled, object)):
		return i.says(Stalled, kind, stalled.Reason, stalled.Message)
	case ready.Status == metav1.ConditionTrue:
		return nil
	case ready.Status == metav1.ConditionFalse:
		return i.says(Failed, kind, ready.Reason, ready.Message)
	default:
		return i.says(Progressing, kind, string(fluxappv1.ReasonProgressing), ready.Message)
	}
}

// says repeats what a step says, behind its name, which the HelmRelease alone
// does not need.
func (i Intent) says(state State, kind, reason, message string) *Verdict {
	if kind != helmv2.HelmReleaseKind {
		message = i.objectName(kind) + ": " + message
	}
	return &Verdict{State: state, Reason: reason, Message: message}
}

func (i Intent) awaited(kind string) *Verdict {
	return i.progressing("waiting for %s", i.objectName(kind))
}

func (i Intent) progressing(format string, args ...any) *Verdict {
	return &Verdict{State: Progressing, Reason: string(fluxappv1.ReasonProgressing), Message: fmt.Sprintf(format, args...)}
}

func (i Intent) objectName(kind string) string {
	return fmt.Sprintf("%s %s/%s", kind, i.App.Namespace, i.App.Name)
}

// speaksOf tells whether a condition is about the present generation.
func speaksOf(condition *metav1.Condition, object metav1.Object) bool {
	return condition.ObservedGeneration == object.GetGeneration()
}

// AppliedVersion is the chart version that is deployed: that of the newest
// release in the HelmRelease's history that is deployed, or empty.
func AppliedVersion(release *helmv2.HelmRelease) string {
	if release == nil {
		return ""
	}
	newest := 0
	version := ""
	for _, snapshot := range release.Status.History {
		if snapshot != nil && snapshot.Status == deployedStatus && snapshot.Version > newest {
			newest, version = snapshot.Version, snapshot.ChartVersion
		}
	}
	return version
}

// deployedStatus is Helm's word for the release that is in force.
const deployedStatus = "deployed"
