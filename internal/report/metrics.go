// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/metric"
)

// The metrics of this package. They are documented from these definitions.
var (
	metricAdmissions = metric.Definition{
		Name: "wavefront_admissions_total", Type: "counter", Labels: []string{"wavefront", "result"},
		Help: "Attempts to pin by result: advanced, initial, restored, failed, held (another manager owns the commit), shadow (announced only).",
	}
	metricWait = metric.Definition{
		Name: "wavefront_admission_wait_seconds", Type: "histogram", Labels: []string{"wavefront", "mode"},
		Help: "Time from the first observation of a revision to its admission, or in Shadow to its announcement.",
	}
	metricEvaluation = metric.Definition{
		Name: "wavefront_evaluation_duration_seconds", Type: "histogram", Labels: []string{"wavefront"},
		Help: "Duration of evaluations of the fleet.",
	}
	metricDropped = metric.Definition{
		Name: "wavefront_events_dropped_total", Type: "counter",
		Help: "Events that could not be queued or delivered.",
	}
	metricLag = metric.Definition{
		Name: "wavefront_node_pin_lag_seconds", Type: "gauge", Labels: []string{"wavefront", "kind", "namespace", "name"},
		Help: "Time since the revision that a node waits for was first observed; only nodes with such a revision have it.",
	}
	metricBlocked = metric.Definition{
		Name: "wavefront_blocked_nodes", Type: "gauge", Labels: []string{"wavefront", "reason"},
		Help: "Nodes that wait, by reason.",
	}
	metricHeld = metric.Definition{
		Name: "wavefront_held_nodes", Type: "gauge", Labels: []string{"wavefront", "reason"},
		Help: "Nodes whose source is not the controller's to move, by reason.",
	}
	metricNodes = metric.Definition{
		Name: "wavefront_nodes", Type: "gauge", Labels: []string{"wavefront", "state"},
		Help: "Nodes of the graph by state.",
	}
	metricFetchFailures = metric.Definition{
		Name: "wavefront_pinned_fetch_failures", Type: "gauge", Labels: []string{"wavefront"},
		Help: "Pinned sources whose commit source-controller can't fetch at present.",
	}
	metricObservationAge = metric.Definition{
		Name: "wavefront_observation_age_seconds", Type: "gauge", Labels: []string{"wavefront"},
		Help: "Age of the oldest observation that counts.",
	}
)

// Definitions lists the metrics of this package.
func Definitions() []metric.Definition {
	return []metric.Definition{
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
		admissions: metricAdmissions.CounterVec(),
		wait:       metricWait.HistogramVec(waitBuckets),
		evaluation: metricEvaluation.HistogramVec(prometheus.ExponentialBuckets(.001, 2, 14)),
		dropped:    metricDropped.Counter(),
		pictures:   newPictures(clk),
	}
	for _, c := range []prometheus.Collector{m.admissions, m.wait, m.evaluation, m.dropped, m.pictures} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// attempted counts an attempt.
func (m *Metrics) attempted(wf *wavefrontv1.Wavefront, result Result) {
	m.admissions.WithLabelValues(wf.Name, string(result)).Inc()
}

// waited records how long a revision had waited that was let through.
func (m *Metrics) waited(wf *wavefrontv1.Wavefront, wait time.Duration) {
	m.wait.WithLabelValues(wf.Name, string(wf.GetMode())).Observe(wait.Seconds())
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
