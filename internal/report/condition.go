// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	// maxGraphMessage bounds the message of GraphValid in bytes; the API server
	// refuses a condition's message beyond 32 KiB.
	maxGraphMessage = 8 << 10
	// maxReadyMessage bounds the message of Ready, which kubectl prints in a
	// table.
	maxReadyMessage = 1 << 10
)

// condition returns a condition of the given type.
func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// withConditions returns the conditions of a Wavefront in their final order:
// Ready first, then by name. Times of transition are kept while a condition's
// status stays the same.
func withConditions(wf *wavefrontv1.Wavefront, now time.Time, wanted ...metav1.Condition) []metav1.Condition {
	previous := wf.Status.Conditions
	for i := range wanted {
		c := &wanted[i]
		c.ObservedGeneration = wf.Generation
		c.LastTransitionTime = *metav1Time(now)
		if old := apimeta.FindStatusCondition(previous, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return wanted
}

// graphCondition judges the graph. Where several things are wrong, the reason is
// the first in the order of how much stands still, and the message tells all.
func graphCondition(ev *fleet.Evaluation) metav1.Condition {
	var reason wavefrontv1.ConditionReason
	var wrong []string
	note := func(r wavefrontv1.ConditionReason, text string) {
		if reason == "" {
			reason = r
		}
		wrong = append(wrong, text)
	}
	if len(ev.SelectorOverlaps) > 0 {
		note(wavefrontv1.SelectorOverlapReason, "selected by several Wavefronts: "+overlaps(ev.SelectorOverlaps))
	}
	if len(ev.SourceOverlaps) > 0 {
		note(wavefrontv1.SourceOverlapReason, "in scope of several Wavefronts: "+overlaps(ev.SourceOverlaps))
	}
	if len(ev.Cycles) > 0 {
		note(wavefrontv1.CyclesDetectedReason, "nodes depend on themselves: "+cycles(ev.Cycles))
	}
	if len(wrong) > 0 {
		return condition(wavefrontv1.GraphValidCondition, metav1.ConditionFalse, string(reason),
			cut(strings.Join(wrong, "; "), maxGraphMessage))
	}
	return soundGraph(ev)
}

// soundGraph tells what is worth knowing of a valid graph.
func soundGraph(ev *fleet.Evaluation) metav1.Condition {
	reason, message := wavefrontv1.ValidReason, "the dependencies can be ordered"
	if len(ev.CoAdmitted) > 0 {
		groups := make([]string, len(ev.CoAdmitted))
		for i, group := range ev.CoAdmitted {
			groups[i] = paths(group)
		}
		reason, message = wavefrontv1.InterleavedSourcesReason, "sources that can only move together: "+strings.Join(groups, "; ")
	}
	if len(ev.Refused) > 0 {
		message += "; references across namespaces that are refused: " + refused(ev.Refused)
	}
	return condition(wavefrontv1.GraphValidCondition, metav1.ConditionTrue, string(reason), cut(message, maxGraphMessage))
}

func valid(graph metav1.Condition) bool { return graph.Status == metav1.ConditionTrue }

// maxOverlaps is how many contested objects are named. A wrong selector contests all, and
// a list of all would crowd out what else is wrong.
const maxOverlaps = 5

func overlaps(all []fleet.Overlap) string {
	texts := make([]string, 0, maxOverlaps)
	for _, o := range all[:min(len(all), maxOverlaps)] {
		texts = append(texts, fmt.Sprintf("%s %q (also %q)", o.Object.Kind, path(o.Object), o.Peer))
	}
	text := strings.Join(texts, ", ")
	if left := len(all) - len(texts); left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text
}

// cycles prints one real path per cycle, as far as the message goes.
func cycles(all [][]fleet.ID) string {
	texts := make([]string, len(all))
	for i, cycle := range all {
		texts[i] = strings.Join(pathList(cycle), " -> ")
	}
	return strings.Join(texts, "; ")
}

func refused(all []fleet.RefusedReference) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = fmt.Sprintf("%s %q -> %s %q", r.From.Kind, path(r.From), r.To.Kind, path(r.To))
	}
	return strings.Join(texts, ", ")
}

// evaluatedReady says that the fleet was evaluated, and what came of it.
func evaluatedReady(wf *wavefrontv1.Wavefront, ev *fleet.Evaluation, graph metav1.Condition) metav1.Condition {
	message := summary(ev)
	if wf.Spec.Suspend {
		message = "suspended; " + message
	}
	if !valid(graph) {
		message += "; the graph is invalid"
	}
	return condition(fluxmeta.ReadyCondition, metav1.ConditionTrue,
		string(wavefrontv1.EvaluationSucceededReason), cut(message, maxReadyMessage))
}

// summary counts the fleet in a line, and names the first node that needs help.
func summary(ev *fleet.Evaluation) string {
	c := ev.Counts
	switch {
	case c.Observed == 0:
		return "no nodes are selected"
	case ev.Phase == fleet.Quiescent && c.Observed == 1:
		return "the only node is settled"
	case ev.Phase == fleet.Quiescent:
		return fmt.Sprintf("all %d nodes are settled", c.Observed)
	}
	text := fmt.Sprintf("%d of %d nodes settled", c.Settled, c.Observed)
	for _, part := range []struct {
		count int
		word  string
	}{
		{c.Pending, "pending"}, {c.Converging, "converging"}, {c.Unhealthy, "unhealthy"},
		{c.Blocked, "blocked"}, {c.Held, "held"},
	} {
		if part.count > 0 {
			text += fmt.Sprintf(", %d %s", part.count, part.word)
		}
	}
	if culprit := firstCulprit(ev); culprit != "" {
		text += "; " + culprit
	}
	return text
}

// firstCulprit names the first node that is in trouble itself.
func firstCulprit(ev *fleet.Evaluation) string {
	for i := range ev.Nodes {
		n := &ev.Nodes[i]
		name := fmt.Sprintf("%s %q", n.ID.Kind, path(n.ID))
		switch {
		case n.Missing:
			return name + " does not exist"
		case n.Unhealthy:
			return name + " is unhealthy"
		case n.Blocked == nil:
		case n.Blocked.Reason == fleet.SelfHeld:
			return name + " is held and has a new revision"
		case n.Blocked.Reason == fleet.SelfUnobserved:
			return "the source of " + name + " can't be observed"
		}
	}
	return ""
}

// failure is a pass that came to nothing.
type failure struct {
	reason  wavefrontv1.ConditionReason
	message string
	// retry is set where the controller tries again by itself; otherwise the
	// Wavefront is stalled until it is changed.
	retry bool
}

// conditions of a failure, beside those of the last picture that still stand.
func (f failure) conditions(wf *wavefrontv1.Wavefront, now time.Time) []metav1.Condition {
	message := cut(f.message, maxReadyMessage)
	abnormal := condition(fluxmeta.StalledCondition, metav1.ConditionTrue, string(f.reason), message)
	if f.retry {
		abnormal = condition(fluxmeta.ReconcilingCondition, metav1.ConditionTrue, fluxmeta.ProgressingWithRetryReason, message)
	}
	ready := condition(fluxmeta.ReadyCondition, metav1.ConditionFalse, string(f.reason), message)
	graph := apimeta.FindStatusCondition(wf.Status.Conditions, wavefrontv1.GraphValidCondition)
	if graph == nil {
		return withConditions(wf, now, ready, abnormal)
	}
	conditions := withConditions(wf, now, ready, abnormal)
	// The graph was not judged again: its condition stays what it was.
	return []metav1.Condition{conditions[0], *graph, conditions[1]}
}
