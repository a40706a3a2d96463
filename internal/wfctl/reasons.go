// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"

// Reasons of the audit events that wfctl records on the Wavefront.
const (
	reasonSuspended     = "FleetSuspended"
	reasonResumed       = "FleetResumed"
	reasonModeChanged   = "ModeChanged"
	reasonReconcile     = "ReconcileRequested"
	reasonPinned        = "PinnedByHand"
	reasonReleased      = "ReleasedByHand"
	reasonAdopted       = "PinAdopted"
	reasonStripped      = "PinStripped"
	reasonForceAdmitted = "ForceAdmitted"
	reasonUninstalled   = "Uninstalled"
)

// eventReasons are all reasons that history may show, for completion.
func eventReasons() []string {
	reasons := []string{
		reasonSuspended, reasonResumed, reasonModeChanged, reasonReconcile, reasonPinned, reasonReleased,
		reasonAdopted, reasonStripped, reasonForceAdmitted, reasonUninstalled,
	}
	for _, r := range []wavefrontv1.EventReason{
		wavefrontv1.InitialPinReason, wavefrontv1.PinAdvancedReason, wavefrontv1.PinRestoredReason,
		wavefrontv1.PinReleasedReason, wavefrontv1.PinKeptReason, wavefrontv1.PinFailedReason,
		wavefrontv1.ShadowAdmissionReason, wavefrontv1.HoldDetectedReason, wavefrontv1.HoldReleasedReason,
		wavefrontv1.BlockedReason, wavefrontv1.UnblockedReason, wavefrontv1.StuckReason,
		wavefrontv1.EnrolmentFailedReason, wavefrontv1.UnsupportedRefStyleReason,
		wavefrontv1.InterleavedSourcesEventReason, wavefrontv1.GraphInvalidReason,
	} {
		reasons = append(reasons, string(r))
	}
	return reasons
}
