// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// Reason says why a condition of a FluxApp has the status it has, and names
// the event that told of it. A FluxApp also carries the reasons of the Flux
// objects it keeps, where it repeats what they say.
type Reason string

// Reasons of the Ready, Reconciling and Stalled conditions.
const (
	// ReasonProgressing: a step has not answered yet for the present
	// generation. Ready is Unknown and Reconciling True.
	ReasonProgressing Reason = "Progressing"

	// ReasonProgressingWithRetry: a step failed and is tried again.
	// Reconciling is True and Ready False with the step's own reason.
	ReasonProgressingWithRetry Reason = "ProgressingWithRetry"

	// ReasonInvalidSpec: the spec cannot be acted on; the message names the
	// field. Stalled until the spec changes.
	ReasonInvalidSpec Reason = "InvalidSpec"

	// ReasonAPINotInstalled: a kind that this FluxApp needs is not served by
	// the cluster. Stalled until its CRD is installed, which is noticed.
	ReasonAPINotInstalled Reason = "APINotInstalled"

	// ReasonNameConflict: an object with the name of one of ours exists and
	// belongs to somebody else. Stalled until it is gone or handed over.
	ReasonNameConflict Reason = "NameConflict"

	// ReasonApplyFailed: the API server refused an object or could not be
	// reached. It is tried again.
	ReasonApplyFailed Reason = "ApplyFailed"

	// ReasonPruneFailed: an object that is no longer needed could not be
	// deleted. It is tried again.
	ReasonPruneFailed Reason = "PruneFailed"

	// ReasonServiceAccountUnusable: spec.serviceAccountName cannot be turned into
	// registry credentials: it is missing, or has several image pull secrets.
	ReasonServiceAccountUnusable Reason = "ServiceAccountUnusable"

	// ReasonVersionRejected: the selected tag is not a version inside
	// spec.chart.version, so it is not deployed.
	ReasonVersionRejected Reason = "VersionRejected"

	// ReasonDeleting: the objects are being removed.
	ReasonDeleting Reason = "Deleting"
)

// Reasons that only events have.
const (
	// ReasonVersionSelected: the version to run changed.
	ReasonVersionSelected Reason = "VersionSelected"

	// ReasonObjectsApplied: objects were created, or changed to what they
	// should be.
	ReasonObjectsApplied Reason = "ObjectsApplied"

	// ReasonObjectsPruned: objects that are no longer needed were deleted.
	ReasonObjectsPruned Reason = "ObjectsPruned"
)

// Action is what the controller was doing when it emitted an event.
type Action string

const (
	// ActionReconcile brings the objects into line with the spec.
	ActionReconcile Action = "Reconcile"
	// ActionPrune removes objects that are no longer needed.
	ActionPrune Action = "Prune"
	// ActionDelete removes everything because the FluxApp is deleted.
	ActionDelete Action = "Delete"
)
