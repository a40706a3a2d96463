// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
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
	// uid of the Wavefront; a namesake starts afresh.
	uid types.UID
	// begun: the first pass of this process has been published.
	begun bool
	// memory of the nodes.
	memory nodeMemory
	// evaluator applies the rules, and remembers the shape of the fleet.
	evaluator fleet.Evaluator
	// written is the newest version of the Wavefront that this process wrote;
	// the cache may be behind it.
	written *wavefrontv1.Wavefront
	// left says since when (monotonic) a source that is ours has been out of
	// scope.
	left map[fleet.ID]time.Duration
	// sweep is the listing of everything that was asked for by requestedAt.
	sweep sweep
	// sweeping: it was not complete when the present pass began.
	sweeping bool
	// deleting is since when the Wavefront has been letting go of its sources.
	deleting time.Duration
}

// wrote remembers the version that a write returned.
func (s *scope) wrote(wf *wavefrontv1.Wavefront) { s.written = wf.DeepCopy() }

// newest returns the newer of the cached and the written version.
func (s *scope) newest(cached *wavefrontv1.Wavefront) *wavefrontv1.Wavefront {
	if s.written == nil {
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

// open tells whether the Wavefront asks for a listing of everything that is not
// complete, or has not begun.
func (s *sweep) open(wf *wavefrontv1.Wavefront) bool {
	request, asked := fluxmeta.ReconcileAnnotationValue(wf.Annotations)
	if !asked || request == wf.Status.LastHandledReconcileAt {
		return false
	}
	return s.request != request || !s.complete()
}

// begin starts the listing, once the observer knows the sources. It tells whether
// it is complete by now, so that another pass can say that it was judged.
func (s *sweep) begin(wf *wavefrontv1.Wavefront, observer *refs.Observer) bool {
	if request, _ := fluxmeta.ReconcileAnnotationValue(wf.Annotations); s.request != request {
		s.request, s.done = request, observer.RefreshAll(wf.Name)
	}
	return s.complete()
}

func (s *sweep) complete() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
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
