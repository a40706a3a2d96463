// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package metric

import "github.com/prometheus/client_golang/prometheus"

// Definition is one metric.
type Definition struct {
	Name string
	// Type is counter, gauge or histogram.
	Type   string
	Help   string
	Labels []string
}

// Counter makes the collector of a counter without labels.
func (d Definition) Counter() prometheus.Counter {
	return prometheus.NewCounter(d.counter())
}

// CounterVec makes the collector of a counter with labels.
func (d Definition) CounterVec() *prometheus.CounterVec {
	return prometheus.NewCounterVec(d.counter(), d.Labels)
}

// HistogramVec makes the collector of a histogram with labels.
func (d Definition) HistogramVec(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets}, d.Labels)
}

// Desc makes the description for a collector that makes its samples itself.
func (d Definition) Desc() *prometheus.Desc {
	return prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
}

func (d Definition) counter() prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: d.Name, Help: d.Help}
}
