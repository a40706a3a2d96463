// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// enrolment announces initial pins that source-controller could not reconcile in
// time.
func (a *announcer) enrolment(ev *fleet.Evaluation) {
	failing := map[fleet.ID]bool{}
	for i := range ev.Sources {
		s := &ev.Sources[i]
		if !s.EnrolmentFailed {
			continue
		}
		failing[s.ID] = true
		if a.memory.enrolment[s.ID] {
			continue
		}
		note := "the initial pin" + subject + " at " + short(s.Pin) + " was not reconciled within the source's timeout: see its Ready condition, or raise spec.timeout"
		if s.Pin == "" {
			note = "no commit" + subject + " could be fetched yet, so there is none to pin: see its Ready condition"
		}
		a.tell(change{
			eventType: corev1.EventTypeWarning, reason: wavefrontv1.EnrolmentFailedReason, action: wavefrontv1.ActionEvaluate,
			source: s.ID, uid: s.UID, note: note,
			metadata: map[string]string{eventv1.MetaRevisionKey: digestOf(s.Pin)},
		})
		a.log.Info("failed to enrol source", "source", path(s.ID), "pin", s.Pin)
	}
	a.memory.enrolment = failing
}

// unsupported announces, once, sources whose reference can't be sequenced.
func (a *announcer) unsupported(ev *fleet.Evaluation) {
	if len(ev.Unsupported) == 0 && len(a.memory.unsupported) == 0 {
		return
	}
	present := map[fleet.ID]bool{}
	for _, id := range ev.Unsupported {
		present[id] = true
		if a.memory.unsupported[id] {
			continue
		}
		a.tell(change{
			eventType: corev1.EventTypeWarning, reason: wavefrontv1.UnsupportedRefStyleReason, action: wavefrontv1.ActionEvaluate,
			source: id, uid: uidOf(ev, id),
			note: "the reference" + subject + " can't be sequenced: only branches can; what is built from it is a gate",
		})
		a.log.Info("source can't be sequenced", "source", path(id))
	}
	a.memory.unsupported = present
}

// interleaved announces, once, groups of sources that can only move together.
func (a *announcer) interleaved(ev *fleet.Evaluation) {
	present := map[string]bool{}
	for _, group := range ev.CoAdmitted {
		key := groupKey(pathList(group))
		present[key] = true
		if a.memory.coAdmitted[key] {
			continue
		}
		a.tellFleet(wavefrontv1.InterleavedSourcesEventReason, reference(group[0], uidOf(ev, group[0])),
			"sources can only move together, order among them is not guaranteed: "+paths(group))
		a.log.Info("sources can only move together", "sources", pathList(group))
	}
	a.memory.coAdmitted = present
}

// graph announces an invalid graph, anew when something else is wrong with it.
func (a *announcer) graph(condition metav1.Condition) {
	if condition.Status != metav1.ConditionFalse {
		a.memory.graph = ""
		return
	}
	key := graphKey(condition.Reason, condition.Message)
	if key == a.memory.graph {
		return
	}
	a.memory.graph = key
	a.tellFleet(wavefrontv1.GraphInvalidReason, corev1.ObjectReference{}, condition.Message)
	a.log.Info("graph is invalid", "reason", condition.Reason, "message", condition.Message)
}

func pathList(ids []fleet.ID) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = path(id)
	}
	return all
}

// paths renders several IDs, joined for people.
func paths(ids []fleet.ID) string { return strings.Join(pathList(ids), ", ") }
