// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

var (
	allStates  = []fleet.State{fleet.Pending, fleet.Admissible, fleet.Unhealthy, fleet.Settled, fleet.Converging}
	allReasons = []fleet.Reason{
		fleet.AncestorUnhealthy, fleet.AncestorPending, fleet.AncestorHeld, fleet.AncestorUnobserved,
		fleet.AncestorMissing, fleet.AncestorNotEnrolled, fleet.SelfHeld, fleet.SelfUnobserved,
		fleet.NotEnrolled, fleet.SharedSourceBlocked, fleet.GraphCycle, fleet.Contested, fleet.Suspended,
	}
	allHolds = []fleet.HoldReason{fleet.HandPin, fleet.Declared, fleet.Suspend, fleet.UnsupportedRef}
)

// picture is what the gauges of a Wavefront show. It is replaced as a whole, so
// a scrape never sees half a pass, and nothing has to be deleted one by one.
type picture struct {
	states        map[fleet.State]int
	reasons       map[fleet.Reason]int
	holds         map[fleet.HoldReason]int
	fetchFailures int
	// oldest observation; zero for none.
	oldest time.Time
	// lags are the nodes with a candidate, and since when it is known.
	lags []lag
}

type lag struct {
	node  fleet.ID
	since time.Time
}

// pictureOf takes the gauges from a pass.
func pictureOf(pass *Pass, m *memory) picture {
	ev := &pass.Evaluation
	p := picture{
		states: map[fleet.State]int{}, reasons: map[fleet.Reason]int{}, holds: map[fleet.HoldReason]int{},
		oldest: pass.OldestObservation,
	}
	for i := range ev.Nodes {
		n := &ev.Nodes[i]
		p.states[n.State]++
		if n.Blocked != nil {
			p.reasons[n.Blocked.Reason]++
		}
		if n.Hold != nil {
			p.holds[n.Hold.Reason]++
		}
		if since := pendingOf(n, m); !since.IsZero() {
			p.lags = append(p.lags, lag{node: n.ID, since: since})
		}
	}
	for i := range ev.Sources {
		if ev.Sources[i].FetchFailing {
			p.fetchFailures++
		}
	}
	return p
}

// pictures collects the gauges of all Wavefronts.
type pictures struct {
	clock clock.PassiveClock

	lagDesc, blocked, held, nodes, fetch, age *prometheus.Desc

	mu  sync.Mutex
	all map[string]picture
}

func newPictures(clk clock.PassiveClock) *pictures {
	return &pictures{
		clock: clk, all: map[string]picture{},
		lagDesc: metricLag.Desc(), blocked: metricBlocked.Desc(), held: metricHeld.Desc(),
		nodes: metricNodes.Desc(), fetch: metricFetchFailures.Desc(), age: metricObservationAge.Desc(),
	}
}

func (c *pictures) show(wavefront string, p picture) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[wavefront] = p
}

func (c *pictures) withdraw(wavefront string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, wavefront)
}

// Describe implements prometheus.Collector.
func (c *pictures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.lagDesc, c.blocked, c.held, c.nodes, c.fetch, c.age} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *pictures) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for wavefront, p := range c.all {
		c.collect(ch, now, wavefront, p)
	}
}

func (c *pictures) collect(ch chan<- prometheus.Metric, now time.Time, wavefront string, p picture) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{wavefront}, labels...)...)
	}
	for _, s := range allStates {
		gauge(c.nodes, float64(p.states[s]), string(s))
	}
	for _, r := range allReasons {
		gauge(c.blocked, float64(p.reasons[r]), string(r))
	}
	for _, h := range allHolds {
		gauge(c.held, float64(p.holds[h]), string(h))
	}
	gauge(c.fetch, float64(p.fetchFailures))
	if !p.oldest.IsZero() {
		gauge(c.age, max(0, now.Sub(p.oldest).Seconds()))
	}
	for _, l := range p.lags {
		gauge(c.lagDesc, max(0, now.Sub(l.since).Seconds()), l.node.Kind, l.node.Namespace, l.node.Name)
	}
}
