// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// reasonSourceNotReady is what a HelmRelease says while its chart is fetched,
// and also when that failed.
const reasonSourceNotReady = "SourceNotReady"

// announcements remembers what was last announced of each FluxApp, for the
// status in the cache may be older than what this process wrote. What it has
// not seen itself it takes from the status.
type announcements struct {
	mu   sync.Mutex
	last map[client.ObjectKey]announcement
}

type announcement struct {
	uid     types.UID
	version string
	ready   metav1.Condition
}

func newAnnouncements() *announcements {
	return &announcements{last: map[client.ObjectKey]announcement{}}
}

// newVersion tells whether a version has not been announced, and notes it.
func (a *announcements) newVersion(before *fluxappv1.FluxApp, version string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.of(before)
	isNew := last.version != version
	last.version = version
	a.last[client.ObjectKeyFromObject(before)] = last
	return isNew
}

// newCondition tells whether a Ready condition is to be announced, and notes
// it. A step that waits for another says so first and whether that failed
// later: its first word is no failure.
func (a *announcements) newCondition(before *fluxappv1.FluxApp, ready metav1.Condition) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.of(before)
	same := last.ready.Status == ready.Status && last.ready.Reason == ready.Reason && last.ready.Message == ready.Message
	firstWord := ready.Status == metav1.ConditionFalse && last.ready.Reason != ready.Reason &&
		(ready.Reason == reasonSourceNotReady || ready.Reason == fluxmeta.DependencyNotReadyReason)
	last.ready = ready
	a.last[client.ObjectKeyFromObject(before)] = last
	return !same && !firstWord
}

func (a *announcements) forget(key client.ObjectKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, key)
}

func (a *announcements) of(before *fluxappv1.FluxApp) announcement {
	if last, ok := a.last[client.ObjectKeyFromObject(before)]; ok && last.uid == before.UID {
		return last
	}
	last := announcement{uid: before.UID, version: before.Status.LatestVersion}
	if ready := conditions.Get(before, fluxmeta.ReadyCondition); ready != nil {
		last.ready = *ready
	}
	return last
}
