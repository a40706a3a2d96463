// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// ready returns the Ready condition; the zero Condition where there is none. Others
// than those who may read the object are told what it says, so URLs lose their user
// information.
func ready(conditions []metav1.Condition) fleet.Condition {
	c := apimeta.FindStatusCondition(conditions, fluxmeta.ReadyCondition)
	if c == nil {
		return fleet.Condition{}
	}
	return fleet.Condition{
		Status:             fleet.Status(c.Status),
		Reason:             c.Reason,
		Message:            fleet.PublicText(c.Message),
		ObservedGeneration: c.ObservedGeneration,
		Since:              c.LastTransitionTime.Time,
	}
}
