// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retryWatch is how long a refused watch waits: the API server may be restarting.
const retryWatch = 500 * time.Millisecond

// scope is what a watch is about.
type scope struct {
	list      client.ObjectList // tells the kind
	namespace string
	name      string // empty for all of the namespace
	// from is the resourceVersion to go on from; empty to hear of the objects that
	// are there first.
	from string
}

// watchEach reports every change until stop returns true or ctx is over. It outlives
// restarts of the API server, without a gap.
func watchEach(ctx context.Context, c client.WithWatch, s scope, stop func(watch.EventType, client.Object) bool) error {
	for {
		stopped, err := watchOnce(ctx, c, &s, stop)
		switch {
		case stopped:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			return err
		case err != nil:
			fmt.Fprintf(os.Stderr, "testfleet: failed to watch %T in %q, trying again: %v\n", s.list, s.namespace, err)
			pause(ctx, retryWatch)
		}
	}
}

func watchOnce(ctx context.Context, c client.WithWatch, s *scope, stop func(watch.EventType, client.Object) bool) (bool, error) {
	options := []client.ListOption{
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: s.from}},
		client.InNamespace(s.namespace),
	}
	if s.name != "" {
		options = append(options, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", s.name)})
	}
	watcher, err := c.Watch(ctx, s.list, options...)
	if err != nil {
		return false, err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(client.Object)
		if event.Type == watch.Error || !ok {
			return false, apierrors.FromObject(event.Object)
		}
		s.from = object.GetResourceVersion()
		if stop(event.Type, object) {
			return true, nil
		}
	}
	return false, nil
}
