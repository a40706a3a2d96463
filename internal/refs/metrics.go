// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isometry/wavefront-controller/internal/metric"
)

// The metrics of this package. They are documented from these definitions.
var (
	metricListTotal = metric.Definition{
		Name: "wavefront_ref_list_total", Type: "counter", Labels: []string{"host", "result"},
		Help: "Listings of refs by git host and result: success, or the kind of the error.",
	}
	metricListFailures = metric.Definition{
		Name: "wavefront_ref_list_failures_total", Type: "counter", Labels: []string{"host"},
		Help: "Failed listings of refs by git host.",
	}
	metricListDuration = metric.Definition{
		Name: "wavefront_ref_list_duration_seconds", Type: "histogram", Labels: []string{"host"},
		Help: "Duration of listings of refs by git host, failed ones included.",
	}
	metricCredentialFailures = metric.Definition{
		Name: "wavefront_credential_read_failures_total", Type: "counter",
		Help: "Secrets and ServiceAccounts of sources that could not be read from the API server.",
	}
)

// Metrics lists the metrics of this package.
func Metrics() []metric.Definition {
	return []metric.Definition{metricListTotal, metricListFailures, metricListDuration, metricCredentialFailures}
}

// metrics are the collectors of one Observer.
type metrics struct {
	total, failures    *prometheus.CounterVec
	duration           *prometheus.HistogramVec
	credentialFailures prometheus.Counter
}

// newMetrics makes the collectors and registers them where there is somebody to
// take them.
func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		total:              metricListTotal.CounterVec(),
		failures:           metricListFailures.CounterVec(),
		duration:           metricListDuration.HistogramVec([]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}),
		credentialFailures: metricCredentialFailures.Counter(),
	}
	if r != nil {
		r.MustRegister(m.total, m.failures, m.duration, m.credentialFailures)
	}
	return m
}

// listed counts one request to a host. A ref that is missing is counted as such
// by the source's own error, not here: the request succeeded.
func (m *metrics) listed(host string, err error, took time.Duration) {
	result := "success"
	if e := typed(err); e != nil {
		result = string(e.Kind)
		m.failures.WithLabelValues(host).Inc()
	}
	m.total.WithLabelValues(host, result).Inc()
	m.duration.WithLabelValues(host).Observe(took.Seconds())
}

// forget withdraws the metrics of a host that nobody lists any more.
func (m *metrics) forget(host string) {
	labels := prometheus.Labels{"host": host}
	m.total.DeletePartialMatch(labels)
	m.failures.DeletePartialMatch(labels)
	m.duration.DeletePartialMatch(labels)
}
