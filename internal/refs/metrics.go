// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric describes one metric of this package, for the generated table.
type Metric struct {
	Name   string
	Type   string
	Help   string
	Labels []string
}

// The metrics of this package. They are documented from these definitions.
var (
	metricListTotal = Metric{
		Name: "wavefront_ref_list_total", Type: "counter", Labels: []string{"host", "result"},
		Help: "Listings of refs by git host and result: success, or the kind of the error.",
	}
	metricListFailures = Metric{
		Name: "wavefront_ref_list_failures_total", Type: "counter", Labels: []string{"host"},
		Help: "Failed listings of refs by git host.",
	}
	metricListDuration = Metric{
		Name: "wavefront_ref_list_duration_seconds", Type: "histogram", Labels: []string{"host"},
		Help: "Duration of listings of refs by git host, failed ones included.",
	}
	metricCredentialFailures = Metric{
		Name: "wavefront_credential_read_failures_total", Type: "counter",
		Help: "Secrets and ServiceAccounts of sources that could not be read from the API server.",
	}
)

// Metrics lists the metrics of this package.
func Metrics() []Metric {
	return []Metric{metricListTotal, metricListFailures, metricListDuration, metricCredentialFailures}
}

// metrics are the collectors of one Observer.
type metrics struct {
	total, failures    *prometheus.CounterVec
	duration           *prometheus.HistogramVec
	credentialFailures prometheus.Counter
}

func (m Metric) counterOpts() prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: m.Name, Help: m.Help}
}

// newMetrics makes the collectors and registers them where there is somebody to
// take them.
func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		total:    prometheus.NewCounterVec(metricListTotal.counterOpts(), metricListTotal.Labels),
		failures: prometheus.NewCounterVec(metricListFailures.counterOpts(), metricListFailures.Labels),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metricListDuration.Name, Help: metricListDuration.Help,
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, metricListDuration.Labels),
		credentialFailures: prometheus.NewCounter(metricCredentialFailures.counterOpts()),
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
