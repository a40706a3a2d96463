// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"testing"

	"github.com/fluxcd/pkg/runtime/events"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
)

// slowRecorder takes an event only when told to.
type slowRecorder struct {
	events.Recorder
	proceed chan struct{}
	got     chan string
}

func (r *slowRecorder) AnnotatedEventf(_, _ runtime.Object, _ map[string]string, _, _, _, format string, args ...any) {
	<-r.proceed
	r.got <- fmt.Sprintf(format, args...)
}

// A receiver that does not answer delays nobody; what is queued is delivered in
// order, and at the end as well.
func TestEventQueue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	slow := &slowRecorder{proceed: make(chan struct{}), got: make(chan string, 10)}
	queue := newEventQueue(slow, logr.Discard(), 2)
	emit := func(note string) {
		queue.AnnotatedEventf(newFluxApp(), nil, nil, "Normal", "Reason", "Action", "%s", note)
	}
	emit("one")
	emit("two")
	emit("dropped")

	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- queue.Start(ctx) }()
	slow.proceed <- struct{}{}
	g.Eventually(slow.got).Should(Receive(Equal("one")))
	stop()
	close(slow.proceed)
	g.Eventually(stopped).Should(Receive(BeNil()))
	g.Expect(slow.got).To(Receive(Equal("two")))
	g.Expect(slow.got).NotTo(Receive())
}
