// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// complete adds what the cache knows of an object: its UID and resource version
// and, where annotations are collected, those that its owner wants events to
// carry (event.toolkit.fluxcd.io/...). An object that is gone stays as it was
// named.
func (d *Delivery) complete(ctx context.Context, ref *corev1.ObjectReference, annotations map[string]string) {
	object := emptyOf(ref.Kind)
	if object == nil || d.objects == nil {
		return
	}
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if err := d.objects.Get(ctx, key, object); err != nil {
		return
	}
	if ref.UID != "" && ref.UID != object.GetUID() {
		return
	}
	ref.UID, ref.ResourceVersion = object.GetUID(), object.GetResourceVersion()
	if annotations == nil {
		return
	}
	for key, value := range object.GetAnnotations() {
		if strings.HasPrefix(key, eventv1.Group+"/") {
			annotations[key] = value
		}
	}
}

// emptyOf returns an object of a kind that the controller caches; nil for any
// other, and for a Wavefront, which is named in full already.
func emptyOf(kind string) client.Object {
	switch kind {
	case fleet.KindGitRepository:
		return &sourcev1.GitRepository{}
	case fleet.KindKustomization:
		return &kustomizev1.Kustomization{}
	}
	return nil
}

// failures returns a logger for a recorder that counts what could not be
// delivered: a recorder reports it nowhere else.
func (d *Delivery) failures() logr.Logger {
	return logr.New(failureSink{LogSink: d.log.GetSink(), metrics: d.metrics})
}

// failureSink passes errors on and counts them. It hides every level of detail,
// at which a recorder repeats the events themselves, warnings as errors.
type failureSink struct {
	logr.LogSink
	metrics *Metrics
}

// Init implements logr.LogSink.
func (s failureSink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s failureSink) Enabled(int) bool { return false }

// Error implements logr.LogSink.
func (s failureSink) Error(err error, msg string, keysAndValues ...any) {
	s.metrics.drop(1)
	if s.LogSink != nil {
		s.LogSink.Error(err, msg, keysAndValues...)
	}
}

// WithValues implements logr.LogSink.
func (s failureSink) WithValues(keysAndValues ...any) logr.LogSink {
	if s.LogSink != nil {
		s.LogSink = s.LogSink.WithValues(keysAndValues...)
	}
	return s
}

// WithName implements logr.LogSink.
func (s failureSink) WithName(name string) logr.LogSink {
	if s.LogSink != nil {
		s.LogSink = s.LogSink.WithName(name)
	}
	return s
}
