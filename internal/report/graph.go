// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// GraphCondition returns the condition GraphValid of an evaluation as a status
// would carry it, for those who judge a fleet without publishing it. Its
// generation and time are left to the caller.
func GraphCondition(ev *fleet.Evaluation) metav1.Condition { return graphCondition(ev) }
