// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types beside those of kstatus (Ready, Reconciling, Stalled).
const (
	// GraphValidCondition says whether the dependency graph can be ordered.
	GraphValidCondition = "GraphValid"
)

// ConditionReason is a reason of a condition of a Wavefront.
type ConditionReason string

// Reasons of the condition GraphValid.
const (
	// ValidReason: no cycle, no overlap, no interleaved sources.
	ValidReason ConditionReason = "Valid"
	// CyclesDetectedReason: nodes depend on themselves; the message prints one
	// path per cycle.
	CyclesDetectedReason ConditionReason = "CyclesDetected"
	// InterleavedSourcesReason: the graph is valid, but some sources can only
	// move together.
	InterleavedSourcesReason ConditionReason = "InterleavedSources"
	// SelectorOverlapReason: another Wavefront selects the same nodes.
	SelectorOverlapReason ConditionReason = "SelectorOverlap"
	// SourceOverlapReason: another Wavefront has the same sources in scope.
	SourceOverlapReason ConditionReason = "SourceOverlap"
)

// Reasons of the conditions Ready, Reconciling and Stalled, beside those of
// fluxcd/pkg/apis/meta (Succeeded, Progressing, ProgressingWithRetry, Suspended).
const (
	// EvaluationSucceededReason: the fleet was evaluated.
	EvaluationSucceededReason ConditionReason = "EvaluationSucceeded"
	// EvaluationFailedReason: the fleet could not be read; the last picture
	// stands, and nothing is admitted.
	EvaluationFailedReason ConditionReason = "EvaluationFailed"
	// InvalidSpecReason: the spec can't be carried out until it is changed.
	InvalidSpecReason ConditionReason = "InvalidSpec"
	// ReleaseFailedReason: the Wavefront is being deleted and could not let go
	// of some of its sources yet.
	ReleaseFailedReason ConditionReason = "ReleaseFailed"
)

// EventReason is the reason of an event of the controller.
type EventReason string

const (
	// InitialPinReason: a source was pinned for the first time.
	InitialPinReason EventReason = "InitialPin"
	// PinAdvancedReason: a revision was admitted.
	PinAdvancedReason EventReason = "PinAdvanced"
	// PinRestoredReason: a pin that vanished was put back.
	PinRestoredReason EventReason = "PinRestored"
	// PinReleasedReason: a source was released and follows its branch again.
	PinReleasedReason EventReason = "PinReleased"
	// PinKeptReason: a source was released and keeps its commit.
	PinKeptReason EventReason = "PinKept"
	// PinFailedReason: a pin could not be written.
	PinFailedReason EventReason = "PinFailed"
	// ShadowAdmissionReason: Enforce would have admitted a revision.
	ShadowAdmissionReason EventReason = "ShadowAdmission"
	// HoldDetectedReason: a source is not the controller's to move any more.
	HoldDetectedReason EventReason = "HoldDetected"
	// HoldReleasedReason: a hold ended.
	HoldReleasedReason EventReason = "HoldReleased"
	// BlockedReason: a node stays blocked by something that needs help.
	BlockedReason EventReason = "Blocked"
	// UnblockedReason: a node is no longer blocked.
	UnblockedReason EventReason = "Unblocked"
	// StuckReason: a node has been converging for longer than its timeout twice
	// over.
	StuckReason EventReason = "Stuck"
	// EnrolmentFailedReason: source-controller could not reconcile a source at
	// its initial pin in time.
	EnrolmentFailedReason EventReason = "EnrolmentFailed"
	// UnsupportedRefStyleReason: a source follows a reference that can't be
	// sequenced; it is a gate.
	UnsupportedRefStyleReason EventReason = "UnsupportedRefStyle"
	// InterleavedSourcesEventReason: some sources can only move together.
	InterleavedSourcesEventReason EventReason = "InterleavedSources"
	// GraphInvalidReason: the graph has cycles, or overlaps with another one.
	GraphInvalidReason EventReason = "GraphInvalid"
)

// Action is what the controller did, as events.k8s.io/v1 asks for.
type Action string

const (
	// ActionPin: a pin was set, moved or put back.
	ActionPin Action = "Pin"
	// ActionRelease: the controller let go of a source.
	ActionRelease Action = "Release"
	// ActionHold: a hold began or ended.
	ActionHold Action = "Hold"
	// ActionAdmit: an admission was announced.
	ActionAdmit Action = "Admit"
	// ActionEvaluate: the fleet was judged.
	ActionEvaluate Action = "Evaluate"
)
