// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Metrics of all Wavefronts of a process.
type Metrics struct{}

// NewMetrics returns the metrics of section "What it publishes" of
// docs/design.md, registered with reg. The clock ages lags and observations at
// the time of a scrape.
func NewMetrics(reg prometheus.Registerer, clk clock.PassiveClock) (*Metrics, error) {
	return &Metrics{}, nil
}
