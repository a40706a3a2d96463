// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

// announceApplied tells which objects were created or corrected.
func (r *Reconciler) announceApplied(s *scope) {
	if len(s.outcome.Changed) > 0 {
		r.event(s, corev1.EventTypeNormal, fluxappv1.ReasonObjectsApplied, fluxappv1.ActionReconcile,
			"applied "+owned.Subjects(s.outcome.Changed))
	}
}

// announcePruned tells which objects were no longer needed.
func (r *Reconciler) announcePruned(s *scope, refs []owned.Ref) {
	if len(refs) > 0 {
		r.event(s, corev1.EventTypeNormal, fluxappv1.ReasonObjectsPruned, fluxappv1.ActionPrune,
			"deleted "+owned.Subjects(refs)+": no longer needed")
	}
}

// announceDeleted tells which objects go with the FluxApp.
func (r *Reconciler) announceDeleted(s *scope, refs []owned.Ref) {
	if len(refs) > 0 {
		r.event(s, corev1.EventTypeNormal, fluxappv1.ReasonDeleting, fluxappv1.ActionDelete, "deleted "+owned.Subjects(refs))
	}
}

// announceVersion tells that another version was selected.
func (r *Reconciler) announceVersion(s *scope) {
	version := s.app.Status.LatestVersion
	if version != "" && r.announced.newVersion(s.before, version) {
		r.event(s, corev1.EventTypeNormal, fluxappv1.ReasonVersionSelected, fluxappv1.ActionReconcile,
			fmt.Sprintf("selected version %s of chart %s", version, s.app.Status.Chart))
	}
}

// announceCondition tells that Ready became True or False, or is so for another
// reason. What is under way is told by nobody: it is over soon.
func (r *Reconciler) announceCondition(s *scope, action fluxappv1.Action) {
	ready := conditions.Get(s.app, fluxmeta.ReadyCondition)
	if ready == nil || ready.Status == metav1.ConditionUnknown || !r.announced.newCondition(s.before, *ready) {
		return
	}
	eventType := corev1.EventTypeNormal
	if ready.Status == metav1.ConditionFalse {
		eventType = corev1.EventTypeWarning
	}
	r.event(s, eventType, fluxappv1.Reason(ready.Reason), action, ready.Message)
}

// event emits an event on the FluxApp, related to its HelmRelease. The version
// in its metadata lets notification-controller tell two of one text apart.
func (r *Reconciler) event(s *scope, eventType string, reason fluxappv1.Reason, action fluxappv1.Action, message string) {
	var related runtime.Object
	if s.observed.HelmRelease != nil {
		related = s.observed.HelmRelease
	}
	metadata := map[string]string{}
	if version := s.app.Status.LatestVersion; version != "" {
		metadata[fluxappv1.GroupVersion.Group+"/"+eventv1.MetaRevisionKey] = version
	}
	r.recorder.AnnotatedEventf(s.app, related, metadata, eventType, string(reason), string(action), "%s", cut(message))
}

// maxNote is the longest note that an events.k8s.io/v1 event may have, in
// bytes: the API server refuses a longer one.
const maxNote = 1024

func cut(message string) string {
	const ellipsis = "..."
	if len(message) <= maxNote {
		return message
	}
	end := maxNote - len(ellipsis)
	for end > 0 && message[end]&0xC0 == 0x80 {
		end--
	}
	return message[:end] + ellipsis
}
