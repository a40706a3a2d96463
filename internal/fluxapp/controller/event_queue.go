// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/runtime/events"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// eventQueueSize holds what two hundred FluxApps have to tell at once.
	eventQueueSize = 2048
	// eventFlush is how long a queue that is stopped goes on to deliver.
	eventFlush = 5 * time.Second
)

// eventQueue delivers events off the reconcile path: Flux's recorder posts to
// notification-controller before it returns, and tries again for a while if that
// does not answer. What does not fit is dropped, and logged.
type eventQueue struct {
	recorder events.Recorder
	log      logr.Logger
	queue    chan func()
}

func newEventQueue(recorder events.Recorder, log logr.Logger, size int) *eventQueue {
	return &eventQueue{recorder: recorder, log: log, queue: make(chan func(), size)}
}

// AnnotatedEventf queues an event about the object as it is now.
func (q *eventQueue) AnnotatedEventf(object, related runtime.Object, annotations map[string]string, eventType, reason, action, format string, args ...any) {
	object = object.DeepCopyObject()
	if related != nil {
		related = related.DeepCopyObject()
	}
	select {
	case q.queue <- func() {
		q.recorder.AnnotatedEventf(object, related, annotations, eventType, reason, action, format, args...)
	}:
	default:
		q.log.Info("event dropped, too many wait for delivery", "reason", reason, "action", action)
	}
}

// Start delivers until the context ends, and what is then queued for a few
// seconds more.
func (q *eventQueue) Start(ctx context.Context) error {
	for {
		select {
		case deliver := <-q.queue:
			deliver()
		case <-ctx.Done():
			q.flush(time.Now().Add(eventFlush))
			return nil
		}
	}
}

func (q *eventQueue) flush(deadline time.Time) {
	for len(q.queue) > 0 && time.Now().Before(deadline) {
		(<-q.queue)()
	}
}

// NeedLeaderElection is true: only the leader has something to tell.
func (q *eventQueue) NeedLeaderElection() bool { return true }
