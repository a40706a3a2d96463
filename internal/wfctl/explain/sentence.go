// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// sentence says how the node stands and what it waits for.
func (e Explainer) sentence(n *picture.Node) string {
	if n.Missing() {
		return "does not exist"
	}
	parts := []string{e.standing(n)}
	if ref := e.awaited(n); ref != nil {
		parts = append(parts, fmt.Sprintf("Flux applies it only while %s, which it depends on, is ready", ref.Path()))
	}
	if n.Trouble != "" {
		parts = append(parts, "it is unhealthy: "+n.Trouble)
	}
	if n.Hold != nil {
		parts = append(parts, e.holdSentence(n.Hold))
	}
	if n.Blocked != nil {
		parts = append(parts, e.blockSentence(n))
	}
	return strings.Join(parts, "; ")
}

func (e Explainer) standing(n *picture.Node) string {
	switch wavefrontv1.NodeState(n.State) {
	case wavefrontv1.StateSettled:
		if n.Role == string(wavefrontv1.RoleGate) {
			return "is settled: a gate, healthy"
		}
		return "is settled: nothing waits, healthy at " + e.pin(n)
	case wavefrontv1.StateAdmissible:
		return fmt.Sprintf("has commit %s%s, which may be admitted now", short(n.Pending()), e.waited(n))
	case wavefrontv1.StateUnhealthy:
		return "failed at " + e.pin(n)
	case wavefrontv1.StateConverging:
		if n.Role == string(wavefrontv1.RoleGate) {
			return "is a gate that is still reconciling"
		}
		return "is on its way to " + e.pin(n)
	default:
		if n.Pending() != "" {
			return fmt.Sprintf("is at %s and has commit %s waiting%s", e.pin(n), short(n.Pending()), e.waited(n))
		}
		return "can't be judged yet"
	}
}

func (e Explainer) pin(n *picture.Node) string {
	switch {
	case n.Role == string(wavefrontv1.RoleGate):
		return "its present revision (it is a gate)"
	case n.Pin == "":
		return "no pin"
	}
	return "pin " + short(n.Pin)
}

func (e Explainer) waited(n *picture.Node) string {
	if n.PendingSince == nil {
		return ""
	}
	return " for " + duration.HumanDuration(max(0, e.Now.Sub(n.PendingSince.Time)))
}

func (e Explainer) holdSentence(h *picture.Hold) string {
	switch fleet.HoldReason(h.Reason) {
	case fleet.HandPin:
		return "its source was pinned by hand" + by(h.Manager)
	case fleet.Declared:
		return "its source's commit is fixed in Git" + by(h.Manager)
	case fleet.Suspend:
		return "its source, the Kustomization or a HelmRelease of it is suspended"
	case fleet.UnsupportedRef:
		return "its source carries a pin, but Git has since changed its ref to a style that can't be sequenced"
	}
	return "its source is held"
}

func by(manager string) string {
	if manager == "" {
		return ""
	}
	return " (" + manager + ")"
}

// blockSentences say what each reason means; %s is the ancestor.
var blockSentences = map[fleet.Reason]string{
	fleet.AncestorUnhealthy:   "it waits because %s, which it depends on, is unhealthy",
	fleet.AncestorPending:     "it waits until %s, which it depends on, has moved and settled",
	fleet.AncestorHeld:        "it waits because %s, which it depends on, is held with a newer commit",
	fleet.AncestorUnobserved:  "it waits until the source of %s, which it depends on, has been listed",
	fleet.AncestorMissing:     "it waits because %s, which it depends on, does not exist",
	fleet.AncestorNotEnrolled: "it waits until %s, which it depends on, has its first pin",
	fleet.SelfHeld:            "so the controller does not move it",
	fleet.SelfUnobserved:      "its own source could not be listed, or not recently enough",
	fleet.NotEnrolled:         "its source has no pin yet, or source-controller has not reconciled at the first one",
	fleet.SharedSourceBlocked: "it shares its source with %s, which waits, and one source moves all its nodes at once",
	fleet.GraphCycle:          "it is on a cycle of dependsOn, or behind one: neither Flux nor the controller can order it",
	fleet.Contested:           "another Wavefront in Enforce claims it or its source as well%s, so neither moves it",
	fleet.Suspended:           "the Wavefront is suspended",
}

func (e Explainer) blockSentence(n *picture.Node) string {
	text, ok := blockSentences[fleet.Reason(n.Blocked.Reason)]
	if !ok {
		text = "it waits: " + n.Blocked.Reason
	}
	if fleet.Reason(n.Blocked.Reason) == fleet.SelfUnobserved && n.ObservationError != "" {
		text = "its own source could not be listed: " + n.ObservationError
	}
	if fleet.Reason(n.Blocked.Reason) == fleet.NotEnrolled && n.ObservationError != "" {
		text = "its source has no pin yet, and could not be listed: " + n.ObservationError
	}
	if !strings.Contains(text, "%s") {
		return text
	}
	name := "another node"
	if fleet.Reason(n.Blocked.Reason) == fleet.Contested {
		name = ""
	}
	if n.Blocked.Ancestor != nil {
		name = n.Blocked.Ancestor.Path()
		if fleet.Reason(n.Blocked.Reason) == fleet.Contested {
			name = " (" + n.Blocked.Ancestor.String() + ")"
		}
	}
	return strings.Replace(text, "%s", name, 1)
}

const shortLength = 8

func short(commit string) string {
	if len(commit) > shortLength {
		return commit[:shortLength]
	}
	return commit
}
