// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// answer is what an API server does with a new event; 0 leaves it unanswered.
type answer func(attempt int) (status int)

// apiDelivery is a Delivery to an API server alone, running until the test ends. The
// server hands over what it gets.
func apiDelivery(t *testing.T, g *WithT, answer answer, change func(*apiWriter), size int) (*Delivery, chan eventsv1.Event, func() float64) {
	posts := make(chan eventsv1.Event, 100)
	closing := make(chan struct{})
	var attempts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e eventsv1.Event
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, _, err = clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, &e)
		}
		if err != nil {
			t.Errorf("failed to decode event: %v", err)
		}
		status := answer(int(attempts.Add(1)))
		posts <- e
		if status == 0 {
			select {
			case <-r.Context().Done():
			case <-closing:
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		var result any = e
		if status != http.StatusCreated {
			reason := map[int]metav1.StatusReason{http.StatusConflict: metav1.StatusReasonAlreadyExists}[status]
			result = metav1.Status{Status: metav1.StatusFailure, Code: int32(status), Reason: reason}
		}
		_ = json.NewEncoder(w).Encode(result)
	}))
	t.Cleanup(server.Close)

	metrics := newTestMetrics(g)
	d := newDelivery(metrics, logr.Discard(), DeliveryOptions{})
	writer, err := newAPIWriter(&rest.Config{Host: server.URL}, server.Client(), d.failures())
	g.Expect(err).NotTo(HaveOccurred())
	writer.backoff = wait.Backoff{Duration: time.Millisecond, Steps: writer.backoff.Steps}
	change(writer)
	d.add(writer.send, apiWorkers, size)
	run(t, d)
	t.Cleanup(func() { close(closing) })
	return d, posts, dropped(g, metrics)
}

func TestEventIsCreatedAsItWasAnnounced(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, posts, lost := apiDelivery(t, g, func(int) int { return http.StatusCreated }, func(*apiWriter) {}, 10)
	e := sourceEvent()
	e.At = start
	names := map[string]bool{}
	for range 3 {
		d.Send(e)
		var got eventsv1.Event
		g.Eventually(posts, "10s").Should(Receive(&got))
		names[got.Name] = true
		g.Expect(got.EventTime.UTC()).To(Equal(start), "not when it was delivered")
		g.Expect(got.Namespace).To(Equal("apps"))
		g.Expect(got.Regarding).To(Equal(e.Regarding))
		g.Expect(got.Related).To(Equal(&e.Related))
		g.Expect([]string{got.Type, got.Reason, got.Action, got.Note}).To(Equal([]string{corev1.EventTypeWarning, "HoldDetected", "Hold", "100% held"}))
		g.Expect(got.ReportingController).To(Equal("wavefront-controller"))
		g.Expect(got.ReportingInstance).To(HavePrefix("wavefront-controller-"))
		g.Expect(got.Annotations).To(Equal(map[string]string{"source.toolkit.fluxcd.io/token": "1", "source.toolkit.fluxcd.io/revision": "sha1:abc"}))
	}
	g.Expect(names).To(HaveLen(3), "each event has a name of its own")

	e.Regarding, e.Related = e.Related, corev1.ObjectReference{}
	d.Send(e)
	var got eventsv1.Event
	g.Eventually(posts, "10s").Should(Receive(&got))
	g.Expect(got.Namespace).To(Equal("default"), "it is about an object without a namespace")
	g.Expect(got.Related).To(BeNil())
	g.Expect(lost()).To(BeZero())
}

func TestAttemptsAtTheAPIServer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		answer   answer
		attempts int
		lost     float64
	}{
		{"silent", func(int) int { return 0 }, 1 + retries, 1},
		{"out of order", func(int) int { return http.StatusServiceUnavailable }, 1 + retries, 1},
		{"overloaded for a while", func(attempt int) int {
			return map[bool]int{true: http.StatusTooManyRequests, false: http.StatusCreated}[attempt < 3]
		}, 3, 0},
		{"an attempt got through unanswered", func(attempt int) int {
			return map[bool]int{true: 0, false: http.StatusConflict}[attempt == 1]
		}, 2, 0},
		{"refused", func(int) int { return http.StatusForbidden }, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d, posts, lost := apiDelivery(t, g, tt.answer, func(w *apiWriter) { w.timeout = 250 * time.Millisecond }, 10)
			d.Send(sourceEvent())
			names := map[string]bool{}
			for range tt.attempts {
				var got eventsv1.Event
				g.Eventually(posts, "10s").Should(Receive(&got))
				names[got.Name] = true
			}
			g.Expect(names).To(HaveLen(1), "it is the same event")
			g.Eventually(lost, "10s").Should(Equal(tt.lost))
			g.Consistently(posts, "100ms").ShouldNot(Receive())
		})
	}
}

func TestSilentAPIServerHoldsAHandful(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, posts, lost := apiDelivery(t, g, func(int) int { return 0 }, func(w *apiWriter) { w.timeout = time.Minute }, 2)
	for range apiWorkers {
		d.Send(sourceEvent())
		g.Eventually(posts, "10s").Should(Receive(), "on its way")
	}
	for range 5 {
		d.Send(sourceEvent())
	}
	g.Expect(lost()).To(Equal(3.), "two wait, three found no room")
	g.Expect(posts).NotTo(Receive(), "and no more than these are on their way")
}
