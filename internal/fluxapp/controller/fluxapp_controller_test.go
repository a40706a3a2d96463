// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/jitter"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// TestIntervalIsJittered: FluxApps made at once are not looked at at once for ever.
func TestIntervalIsJittered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	jitter.SetGlobalIntervalJitter(.1, nil)
	const interval = 10 * time.Minute
	app := &fluxappv1.FluxApp{Spec: fluxappv1.FluxAppSpec{Interval: &metav1.Duration{Duration: interval}}}
	g.Expect(resultOf(app)).To(BeZero(), "what is watched need not be looked at")
	app.Spec.ServiceAccountName = "puller"
	seen := map[time.Duration]bool{}
	for range 20 {
		after := resultOf(app).RequeueAfter
		g.Expect(after).To(BeNumerically("~", interval, interval/10))
		seen[after] = true
	}
	g.Expect(len(seen)).To(BeNumerically(">", 1))
}
