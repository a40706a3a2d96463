// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	recordutil "k8s.io/client-go/tools/record/util"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

const (
	// apiWorkers is how many events the API server gets at once: what it shares
	// out to this controller, the pins need too.
	apiWorkers = 4
	// apiTimeout is how long one attempt may take, as with notification-controller.
	apiTimeout = 5 * time.Second
)

// apiWriter creates events at the API server. The recorder of client-go would have
// a goroutine for each event, however many there are, which waits for as long as the
// API server does; and what it loses it tells nobody.
type apiWriter struct {
	client   typedeventsv1.EventsGetter
	log      logr.Logger
	instance string
	timeout  time.Duration
	backoff  wait.Backoff

	// began and created make names that no other event has.
	began   time.Time
	created atomic.Int64
}

// newAPIWriter returns a writer that reports to the log, as an error, what could not
// be created.
func newAPIWriter(config *rest.Config, client *http.Client, log logr.Logger) (*apiWriter, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("failed to read the host's name: %w", err)
	}
	typed, err := typedeventsv1.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("failed to create client of events: %w", err)
	}
	return &apiWriter{
		client: typed, log: log, instance: wavefrontv1.FieldManager + "-" + hostname, began: time.Now(),
		timeout: apiTimeout, backoff: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: .1, Steps: 1 + retries},
	}, nil
}

// send creates the event, in several attempts if need be.
func (w *apiWriter) send(ctx context.Context, e Event, annotations map[string]string) {
	event := w.eventOf(&e, annotations)
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, w.backoff, func(ctx context.Context) (bool, error) {
		last = w.create(ctx, event)
		switch {
		case last == nil, apierrors.IsAlreadyExists(last): // an attempt that seemed to fail did not
			return true, nil
		case isRefusal(last):
			return false, last
		}
		return false, nil
	})
	if err == nil {
		return
	}
	if last != nil {
		err = last
	}
	w.log.Error(err, "failed to create event", "kind", e.Regarding.Kind, "namespace", e.Regarding.Namespace,
		"name", e.Regarding.Name, "reason", e.Reason)
}

func (w *apiWriter) create(ctx context.Context, event *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	_, err := w.client.Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// isRefusal tells whether the API server has answered, and would answer the same again.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}

// eventOf renders an event, of the moment at which the change was announced.
func (w *apiWriter) eventOf(e *Event, annotations map[string]string) *eventsv1.Event {
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   e.Regarding.Namespace,
			Name:        recordutil.GenerateEventName(e.Regarding.Name, w.began.UnixNano()+w.created.Add(1)),
			Annotations: annotations,
		},
		EventTime:           metav1.NewMicroTime(e.At),
		ReportingController: wavefrontv1.FieldManager,
		ReportingInstance:   w.instance,
		Type:                e.Type,
		Reason:              string(e.Reason),
		Action:              string(e.Action),
		Note:                e.Note,
		Regarding:           e.Regarding,
	}
	if event.Namespace == "" { // events of cluster-scoped objects
		event.Namespace = metav1.NamespaceDefault
	}
	if e.Related != (corev1.ObjectReference{}) {
		event.Related = &e.Related
	}
	return event
}
