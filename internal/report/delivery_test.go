// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/fluxcd/pkg/runtime/events"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// webhook is a receiver that hands over what it gets.
func webhook(t *testing.T, status int) (address string, posts chan eventv1.Event) {
	posts = make(chan eventv1.Event, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p eventv1.Event
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			t.Errorf("failed to decode event: %v", err)
		}
		posts <- p
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL, posts
}

func newScheme(g *WithT) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, sourcev1.AddToScheme, wavefrontv1.AddToScheme} {
		g.Expect(add(scheme)).To(Succeed())
	}
	return scheme
}

func newTestMetrics(g *WithT) *Metrics {
	metrics, err := NewMetrics(prometheus.NewRegistry(), clocktesting.NewFakePassiveClock(start))
	g.Expect(err).NotTo(HaveOccurred())
	return metrics
}

// dropped reads the counter of dropped events.
func dropped(g *WithT, m *Metrics) func() float64 {
	registry := prometheus.NewRegistry()
	g.Expect(registry.Register(m.dropped)).To(Succeed())
	return func() float64 {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		return families[0].GetMetric()[0].GetCounter().GetValue()
	}
}

// hookDelivery is a Delivery to a webhook alone, running until the test ends.
func hookDelivery(g *WithT, address string, opts DeliveryOptions, options ...events.RecorderOption) (*Delivery, func() float64) {
	metrics := newTestMetrics(g)
	d := newDelivery(metrics, logr.Discard(), opts)
	hook, err := events.NewRecorder(d.failures(), address, wavefrontv1.FieldManager,
		append([]events.RecorderOption{events.WithScheme(newScheme(g))}, options...)...)
	g.Expect(err).NotTo(HaveOccurred())
	d.add(d.hook(hook), 1, opts.Size)
	return d, dropped(g, metrics)
}

func run(t *testing.T, d *Delivery) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Start(ctx); err != nil {
			t.Errorf("failed to run delivery: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func sourceEvent() Event {
	wf := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: "fleet", UID: "uid-1", ResourceVersion: "7"}}
	return Event{
		Type: corev1.EventTypeWarning, Reason: wavefrontv1.HoldDetectedReason, Action: wavefrontv1.ActionHold,
		Regarding: reference(repo("db"), ""), Related: wavefrontReference(wf), Note: "100% held",
		Metadata: map[string]string{eventv1.MetaTokenKey: "1", eventv1.MetaRevisionKey: "sha1:abc", MetaManagerKey: ""},
	}
}

func TestWebhookGetsWhatItAsksFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	address, posts := webhook(t, http.StatusAccepted)
	source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "db", UID: "uid-of-db", ResourceVersion: "42",
		Annotations: map[string]string{"event.toolkit.fluxcd.io/cluster": "one", "other": "x"},
	}}
	objects := fake.NewClientBuilder().WithScheme(newScheme(g)).WithObjects(source).Build()
	d, lost := hookDelivery(g, address, DeliveryOptions{Namespace: "flux-system", Objects: objects})
	run(t, d)

	e := sourceEvent()
	d.Send(e)
	var got eventv1.Event
	g.Eventually(posts, "10s").Should(Receive(&got))
	g.Expect(got.InvolvedObject).To(Equal(corev1.ObjectReference{
		APIVersion: "source.toolkit.fluxcd.io/v1", Kind: "GitRepository", Namespace: "apps", Name: "db", UID: "uid-of-db", ResourceVersion: "42",
	}))
	g.Expect(got.RelatedObject.Kind).To(Equal("Wavefront"))
	g.Expect(got.Message).To(Equal("100% held"))
	g.Expect(got.Severity).To(Equal(eventv1.EventSeverityError))
	g.Expect(got.Reason).To(Equal("HoldDetected"))
	g.Expect(got.Action).To(Equal("Hold"))
	g.Expect(got.Metadata).To(Equal(map[string]string{
		"source.toolkit.fluxcd.io/token": "1", "source.toolkit.fluxcd.io/revision": "sha1:abc",
		"event.toolkit.fluxcd.io/cluster": "one",
	}))

	e.Regarding, e.Related = e.Related, e.Regarding
	d.Send(e)
	g.Eventually(posts, "10s").Should(Receive(&got))
	g.Expect(got.InvolvedObject.Kind).To(Equal("Wavefront"))
	g.Expect(got.InvolvedObject.Namespace).To(Equal("flux-system"), "notification-controller knows namespaced objects only")
	g.Expect(got.Metadata).To(HaveKey("wavefront.as-code.io/token"))
	g.Expect(lost()).To(BeZero())
}

func TestDeadWebhookBlocksNobodyAndIsCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-answer }))
	t.Cleanup(server.Close)
	defer close(answer)
	d, lost := hookDelivery(g, server.URL, DeliveryOptions{Namespace: "flux-system", Size: 2}, events.WithRetryMax(0))
	fast := events.NewFakeRecorder(100, false)
	d.add(d.hook(fast), 1, 100)
	run(t, d)

	d.Send(sourceEvent())
	g.Eventually(func() int { return len(d.outlets[0].queue) }, "10s").Should(BeZero(), "the first is on its way")
	for range 5 {
		d.Send(sourceEvent())
	}
	g.Expect(lost()).To(Equal(3.), "two wait, three found no room")
	g.Eventually(func() int { return len(fast.Events) }, "10s").Should(Equal(6), "the other outlet is not concerned")
}

func TestFailedDeliveryIsCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	address, posts := webhook(t, http.StatusInternalServerError)
	d, lost := hookDelivery(g, address, DeliveryOptions{Namespace: "flux-system"}, events.WithRetryMax(0))
	run(t, d)
	d.Send(sourceEvent())
	g.Eventually(posts, "10s").Should(Receive())
	g.Eventually(lost, "10s").Should(Equal(1.))
}

func TestStoppedDeliveryFlushesFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	metrics := newTestMetrics(g)
	d := newDelivery(metrics, logr.Discard(), DeliveryOptions{})
	recorder := events.NewFakeRecorder(100, false)
	d.add(d.hook(recorder), 1, 100)
	for range 50 {
		d.Send(sourceEvent())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.Expect(d.Start(ctx)).To(Succeed())
	g.Expect(recorder.GetEvents()).To(HaveLen(50))
	g.Expect(dropped(g, metrics)()).To(BeZero())
}

func TestNotesAreCutForTheAPI(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"ascii": strings.Repeat("x", 5000), "two bytes": strings.Repeat("é", 3000),
		"shifted": "x" + strings.Repeat("€", 3000), "four bytes": strings.Repeat("🌊", 3000), "broken": strings.Repeat("x\xff", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := cut(text, MaxNote)
			g.Expect(len(got)).To(And(BeNumerically("<=", MaxNote), BeNumerically(">", MaxNote-8)))
			g.Expect(utf8.ValidString(got)).To(BeTrue())
			g.Expect(got).To(HaveSuffix("…"))
			g.Expect(cut("short", MaxNote)).To(Equal("short"))
		})
	}
	g := NewWithT(t)
	box := &inbox{}
	a := &announcer{wf: &wavefrontv1.Wavefront{}, events: box, now: time.Now()}
	a.tellFleet(wavefrontv1.GraphInvalidReason, corev1.ObjectReference{}, strings.Repeat("x", 5000))
	g.Expect(box.events[0].Note).To(HaveLen(MaxNote))
}
