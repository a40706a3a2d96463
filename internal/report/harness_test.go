// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fluxcd/pkg/runtime/conditions/check"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	shaA = fleet.Revision("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	shaB = fleet.Revision("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")
	shaC = fleet.Revision("cccccccccccccccccccccccccccccccccccccccc")
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// inbox is a Sink that keeps what it gets.
type inbox struct {
	mu     sync.Mutex
	events []Event
}

func (i *inbox) Send(e Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.events = append(i.events, e)
}

// take empties the inbox and renders each event as "Kind/name Reason".
func (i *inbox) take() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	texts := make([]string, len(i.events))
	for k, e := range i.events {
		texts[k] = e.Regarding.Kind + "/" + e.Regarding.Name + " " + string(e.Reason)
	}
	i.events = nil
	return texts
}

// harness publishes passes of one Wavefront as the controller would.
type harness struct {
	*WithT
	clock    *clocktesting.FakePassiveClock
	inbox    *inbox
	registry *prometheus.Registry
	metrics  *Metrics
	reporter *Reporter
	wf       *wavefrontv1.Wavefront
	// writes counts status writes.
	writes int
}

func newHarness(t *testing.T, mode wavefrontv1.Mode) *harness {
	h := &harness{
		WithT: NewWithT(t), clock: clocktesting.NewFakePassiveClock(start), inbox: &inbox{},
		wf: &wavefrontv1.Wavefront{
			ObjectMeta: metav1.ObjectMeta{Name: "fleet", UID: types.UID("uid-1"), Generation: 3, ResourceVersion: "1"},
			Spec:       wavefrontv1.WavefrontSpec{Mode: mode},
			Status:     wavefrontv1.WavefrontStatus{ObservedGeneration: -1},
		},
	}
	h.restart()
	return h
}

// restart begins a new process: nothing is remembered but the Wavefront.
func (h *harness) restart() {
	h.registry = prometheus.NewRegistry()
	metrics, err := NewMetrics(h.registry, h.clock)
	h.Expect(err).NotTo(HaveOccurred())
	h.metrics = metrics
	h.reporter = New(h.inbox, metrics, h.clock)
}

// publish publishes a pass and writes the status if it is due.
func (h *harness) publish(pass Pass) Report {
	return h.write(h.reporter.Publish(context.Background(), h.wf, pass))
}

func (h *harness) write(r Report) Report {
	if r.Status != nil {
		h.writes++
		h.wf.Status = *r.Status.DeepCopy()
		h.reporter.Written(h.wf, r)
		h.conforms()
	}
	return r
}

// conforms checks what kstatus expects of the object.
func (h *harness) conforms() {
	checker := check.NewChecker(nil, &check.Conditions{NegativePolarity: []string{"Stalled", "Reconciling"}})
	checker.DisableFetch = true
	checker.WithT(h.WithT).CheckErr(context.Background(), h.wf)
}

func (h *harness) step(d time.Duration) { h.clock.SetTime(h.clock.Now().Add(d)) }

// events returns what was sent since the last call; where prefixes are given,
// only about objects of these.
func (h *harness) events(prefixes ...string) []string {
	return slices.DeleteFunc(h.inbox.take(), func(text string) bool {
		return len(prefixes) > 0 && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
	})
}

// gauges returns the samples of a metric as "label,label" -> value.
func (h *harness) gauges(name string) map[string]float64 {
	families, err := h.registry.Gather()
	h.Expect(err).NotTo(HaveOccurred())
	samples := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "wavefront" {
					labels = append(labels, l.GetValue())
				}
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			if histogram := m.GetHistogram(); histogram != nil {
				value = histogram.GetSampleSum()
			}
			samples[strings.Join(labels, ",")] = value
		}
	}
	return samples
}

func node(name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindKustomization, Namespace: "apps", Name: name}
}

func repo(name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: "apps", Name: name}
}

// fleetOf assembles an evaluation of nodes, each on a source of its own name,
// and counts it as the rules do.
func fleetOf(nodes ...fleet.NodeResult) fleet.Evaluation {
	ev := fleet.Evaluation{Phase: fleet.Quiescent, Nodes: nodes}
	for i := range nodes {
		n := &nodes[i]
		count(&ev.Counts, n)
		if n.Role == fleet.Pinned {
			ev.Sources = append(ev.Sources, fleet.SourceResult{
				ID: n.Source, UID: "uid-of-" + n.Source.Name, Nodes: []fleet.ID{n.ID}, Pin: n.Pin, Real: true,
				Candidate: n.Candidate, PendingSince: n.PendingSince, Pending: n.Candidate != "", Hold: n.Hold,
			})
		}
		switch {
		case n.Unhealthy:
			ev.Phase = fleet.Blocked
		case n.State != fleet.Settled && ev.Phase == fleet.Quiescent:
			ev.Phase = fleet.Advancing
		}
	}
	return ev
}

func count(c *fleet.Counts, n *fleet.NodeResult) {
	c.Observed++
	for _, is := range []struct {
		true  bool
		count *int
	}{
		{n.Role == fleet.Pinned, &c.Pinned},
		{n.Role == fleet.Gate, &c.Gates},
		{n.State == fleet.Settled, &c.Settled},
		{n.State == fleet.Pending || n.State == fleet.Admissible, &c.Pending},
		{n.State == fleet.Converging, &c.Converging},
		{n.Unhealthy, &c.Unhealthy},
		{n.Blocked != nil, &c.Blocked},
		{n.Hold != nil, &c.Held},
	} {
		if is.true {
			*is.count++
		}
	}
}

// settledNode is at its pin with nothing newer.
func settledNode(name string, pin fleet.Revision) fleet.NodeResult {
	return fleet.NodeResult{
		ID: node(name), UID: "uid-of-" + name, Role: fleet.Pinned, State: fleet.Settled, Selected: true,
		Source: repo(name), Pin: pin, Observed: pin, Verdict: fleet.Good, Ready: true, Settled: true, Full: true, Gate: true,
		Timeout: time.Minute,
	}
}

// waiting gives a node the candidate shaB, which waits.
func waiting(n fleet.NodeResult, b fleet.Blocker) fleet.NodeResult {
	n.State, n.Settled, n.Full = fleet.Pending, false, false
	n.Candidate, n.Observed, n.Blocked = shaB, shaB, &b
	return n
}

// admissible gives a node a candidate that may move.
func admissible(n fleet.NodeResult, candidate fleet.Revision) fleet.NodeResult {
	n.State, n.Settled, n.Full = fleet.Admissible, false, false
	n.Candidate, n.Observed = candidate, candidate
	return n
}

// unseen takes a node's observation away, as after a start.
func unseen(n fleet.NodeResult) fleet.NodeResult {
	n.State, n.Settled, n.Full = fleet.Converging, false, false
	n.Candidate, n.Observed, n.Blocked = "", "", nil
	return n
}

func unhealthy(n fleet.NodeResult) fleet.NodeResult {
	n.State, n.Settled, n.Full, n.Ready = fleet.Unhealthy, false, false, false
	n.Verdict, n.Unhealthy, n.Trouble = fleet.Bad, true, "HealthCheckFailed: timeout"
	return n
}

func held(n fleet.NodeResult, h fleet.Hold) fleet.NodeResult {
	n.Hold = &h
	return n
}
