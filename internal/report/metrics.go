// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
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
	metricAdmissions = Metric{
		Name: "wavefront_admissions_total", Type: "counter", Labels: []string{"wavefront", "result"},
		Help: "Attempts to pin by result: advanced, initial, restored, failed, held (another manager owns the commit), shadow (announced only).",
	}
	metricWait = Metric{
		Name: "wavefront_admission_wait_seconds", Type: "histogram", Labels: []string{"wavefront", "mode"},
		Help: "Time from the first observation of a revision to its admission, or in Shadow to its announcement.",
	}
	metricEvaluation = Metric{
		Name: "wavefront_evaluation_duration_seconds", Type: "histogram", Labels: []string{"wavefront"},
		Help: "Duration of evaluations of the fleet.",
	}
	metricDropped = Metric{
		Name: "wavefront_events_dropped_total", Type: "counter",
		Help: "Events that could not be queued or delivered.",
	}
	metricLag = Metric{
		Name: "wavefront_node_pin_lag_seconds", Type: "gauge", Labels: []string{"wavefront", "kind", "namespace", "name"},
		Help: "Time since the revision that a node waits for was first observed; only nodes with such a revision have it.",
	}
	metricBlocked = Metric{
		Name: "wavefront_blocked_nodes", Type: "gauge", Labels: []string{"wavefront", "reason"},
		Help: "Nodes that wait, by reason.",
	}
	metricHeld = Metric{
		Name: "wavefront_held_nodes", Type: "gauge", Labels: []string{"wavefront", "reason"},
		Help: "Nodes whose source is not the controller's to move, by reason.",
	}
	metricNodes = Metric{
		Name: "wavefront_nodes", Type: "gauge", Labels: []string{"wavefront", "state"},
		Help: "Nodes of the graph by state.",
	}
	metricFetchFailures = Metric{
		Name: "wavefront_pinned_fetch_failures", Type: "gauge", Labels: []string{"wavefront"},
		Help: "Pinned sources whose commit source-controller can't fetch at present.",
	}
	metricObservationAge = Metric{
		Name: "wavefront_observation_age_seconds", Type: "gauge", Labels: []string{"wavefront"},
		Help: "Age of the oldest observation that counts.",
	}
)

// Definitions lists the metrics of this package.
func Definitions() []Metric {
	return []Metric{
		metricAdmissions, metricWait, metricEvaluation, metricDropped, metricLag,
		metricBlocked, metricHeld, metricNodes, metricFetchFailures, metricObservationAge,
	}
}

// waitBuckets reach from one poll to days: an admission may wait for people.
var waitBuckets = []float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}

// Metrics of all Wavefronts of a process.
type Metrics struct {
	admissions *prometheus.CounterVec
	wait       *prometheus.HistogramVec
	evaluation *prometheus.HistogramVec
	dropped    prometheus.Counter
	pictures   *pictures
}

// NewMetrics returns the metrics of Definitions, registered with reg. The clock
// ages lags and observations at the time of a scrape.
func NewMetrics(reg prometheus.Registerer, clk clock.PassiveClock) (*Metrics, error) {
	m := &Metrics{
		admissions: prometheus.NewCounterVec(metricAdmissions.counter(), metricAdmissions.Labels),
		wait:       prometheus.NewHistogramVec(metricWait.histogram(waitBuckets), metricWait.Labels),
		evaluation: prometheus.NewHistogramVec(metricEvaluation.histogram(prometheus.ExponentialBuckets(.001, 2, 14)), metricEvaluation.Labels),
		dropped:    prometheus.NewCounter(metricDropped.counter()),
		pictures:   newPictures(clk),
	}
	for _, c := range []prometheus.Collector{m.admissions, m.wait, m.evaluation, m.dropped, m.pictures} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (d Metric) counter() prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: d.Name, Help: d.Help}
}

func (d Metric) histogram(buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets}
}

func (d Metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
}

// admitted counts an attempt, and how long the revision had waited where it was
// let through.
func (m *Metrics) admitted(wf *wavefrontv1.Wavefront, result Result, waited time.Duration) {
	m.admissions.WithLabelValues(wf.Name, string(result)).Inc()
	if result == Advanced || result == shadowed {
		m.wait.WithLabelValues(wf.Name, string(wf.GetMode())).Observe(waited.Seconds())
	}
}

// evaluated records how long an evaluation took.
func (m *Metrics) evaluated(wavefront string, took time.Duration) {
	m.evaluation.WithLabelValues(wavefront).Observe(took.Seconds())
}

// show replaces the gauges of a Wavefront.
func (m *Metrics) show(wavefront string, p picture) { m.pictures.show(wavefront, p) }

// withdraw deletes the gauges of a Wavefront: nothing is known of it.
func (m *Metrics) withdraw(wavefront string) { m.pictures.withdraw(wavefront) }

// forget deletes everything about a Wavefront.
func (m *Metrics) forget(wavefront string) {
	m.withdraw(wavefront)
	labels := prometheus.Labels{"wavefront": wavefront}
	m.admissions.DeletePartialMatch(labels)
	m.wait.DeletePartialMatch(labels)
	m.evaluation.DeletePartialMatch(labels)
}

// drop counts events that nobody will get.
func (m *Metrics) drop(events int) { m.dropped.Add(float64(events)) }
