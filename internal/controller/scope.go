// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs"
)

// scopes holds the scope of each Wavefront of the process.
type scopes struct {
	mu  sync.Mutex
	all map[string]*scope
}

// of returns the scope of a Wavefront, new if there is none. One Wavefront is
// never reconciled twice at a time, so its scope needs no lock.
func (s *scopes) of(name string) *scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*scope{}
	}
	if s.all[name] == nil {
		s.all[name] = &scope{left: map[fleet.ID]time.Duration{}}
	}
	return s.all[name]
}

func (s *scopes) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, name)
}

// scope is what the passes of one Wavefront remember. A fresh process starts
// with an empty one.
type scope struct {
	// memory of the nodes.
	memory nodeMemory
	// written is the newest version of the Wavefront that this process wrote;
	// the cache may be behind it.
	written *wavefrontv1.Wavefront
	// left says since when (monotonic) a source that is ours has been out of
	// scope.
	left map[fleet.ID]time.Duration
	// sweep is the listing of everything that was asked for by requestedAt.
	sweep sweep
	// sweeping: it was under way when the present pass began.
	sweeping bool
	// deleting is since when the Wavefront has been letting go of its sources.
	deleting time.Duration
}

// wrote remembers the version that a write returned.
func (s *scope) wrote(wf *wavefrontv1.Wavefront) { s.written = wf.DeepCopy() }

// newest returns the newer of the cached and the written version.
func (s *scope) newest(cached *wavefrontv1.Wavefront) *wavefrontv1.Wavefront {
	if s.written == nil || s.written.UID != cached.UID {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, s.written.ResourceVersion)
	if err != nil || order >= 0 {
		s.written = nil
		return cached
	}
	return s.written.DeepCopy()
}

// sweep is a requested listing of everything.
type sweep struct {
	request string
	done    <-chan struct{}
}

// pending tells whether a requested sweep is still under way, and starts it
// where the Wavefront carries a request that was not seen before.
func (s *sweep) pending(wf *wavefrontv1.Wavefront, observer *refs.Observer) bool {
	request, ok := fluxmeta.ReconcileAnnotationValue(wf.Annotations)
	if !ok || request == wf.Status.LastHandledReconcileAt {
		return false
	}
	if s.request != request {
		s.request, s.done = request, observer.RefreshAll(wf.Name)
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// asHandled hides a reconcile request from the report until everything that was
// asked for has been listed and judged: what is reported is taken as handled.
func (s *scope) asHandled(wf *wavefrontv1.Wavefront) *wavefrontv1.Wavefront {
	if !s.sweeping {
		return wf
	}
	shown := wf.DeepCopy()
	delete(shown.Annotations, fluxmeta.ReconcileRequestAnnotation)
	return shown
}
