// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// dwell is for how long something must block a node, or must have ceased to,
// before it is announced: a verdict that changes its mind within seconds is not
// worth two messages. An admission is announced as unblocking at once.
const dwell = 5 * time.Second

// stuckFactor says after how many timeouts of its own a node that converges is
// stuck.
const stuckFactor = 2

// lasting are the reasons that do not pass by themselves: what is unhealthy,
// held, missing or unobservable needs help, and its victims are told.
var lasting = map[fleet.Reason]bool{
	fleet.AncestorUnhealthy:  true,
	fleet.AncestorHeld:       true,
	fleet.AncestorMissing:    true,
	fleet.AncestorUnobserved: true,
	fleet.SelfHeld:           true,
	fleet.SelfUnobserved:     true,
}

// blocked announces nodes that stay blocked by something that needs help, and
// those that no longer wait. A node that then merely waits for its turn is still
// blocked, and nothing is said.
func (a *announcer) blocked(ev *fleet.Evaluation) {
	nodes := index(ev)
	present := make(map[fleet.ID]bool, len(ev.Nodes))
	for i := range ev.Nodes {
		n := &ev.Nodes[i]
		present[n.ID] = true
		entry, known := a.memory.blocked[n.ID]
		switch {
		case n.Blocked != nil:
			a.memory.blocked[n.ID] = a.stillBlocked(n, entry, nodes)
		case known && !a.nowClear(n, &entry):
			a.memory.blocked[n.ID] = entry
		case known:
			delete(a.memory.blocked, n.ID)
		}
	}
	keep(a.memory.blocked, present)
}

// stillBlocked carries the ages on and announces what has lasted long enough.
func (a *announcer) stillBlocked(n *fleet.NodeResult, e blockedSince, nodes nodeIndex) blockedSince {
	if e.since.IsZero() || e.blocker.Reason != n.Blocked.Reason {
		e.since = a.now
	}
	if e.stands.IsZero() || e.blocker != *n.Blocked {
		e.stands = a.now
	}
	e.blocker, e.pin, e.clear, e.restored = *n.Blocked, n.Pin, time.Time{}, false
	if n.Foreign != "" || !nodes.needsHelp(e.blocker) || (e.announced != nil && *e.announced == e.blocker) {
		return e
	}
	lasts := e.since
	if e.announced != nil {
		lasts = e.stands
	}
	if a.ripe(lasts.Add(dwell)) {
		blocker := e.blocker
		e.announced = &blocker
		a.tellBlocked(n, nodes)
	}
	return e
}

// nowClear tells whether a node that waits for nothing any more has done so for
// long enough, and then announces it. One that was read back and is not observed
// yet says nothing.
func (a *announcer) nowClear(n *fleet.NodeResult, e *blockedSince) bool {
	if e.restored && n.Role == fleet.Pinned && n.Observed == "" && n.Pin == e.pin {
		return false
	}
	if e.clear.IsZero() {
		e.clear = a.now
	}
	if e.announced == nil {
		return true
	}
	if n.Pin == e.pin && !a.ripe(e.clear.Add(dwell)) {
		return false
	}
	a.tellNode(corev1.EventTypeNormal, wavefrontv1.UnblockedReason, n, "is no longer blocked", map[string]string{
		eventv1.MetaRevisionKey: digestOf(n.Pin),
	})
	a.log.Info("unblocked node", "node", n.ID.String(), "pin", n.Pin)
	return true
}

func (a *announcer) tellBlocked(n *fleet.NodeResult, nodes nodeIndex) {
	metadata := map[string]string{
		eventv1.MetaRevisionKey: digestOf(n.Candidate),
		MetaBlockedByKey:        string(n.Blocked.Reason),
	}
	if !n.Blocked.Ancestor.IsZero() {
		metadata[MetaAncestorKey] = n.Blocked.Ancestor.String()
		metadata[MetaTroubleKey] = nodes.trouble(n.Blocked.Ancestor)
	} else {
		metadata[MetaTroubleKey] = n.ObservationError
	}
	a.tellNode(corev1.EventTypeWarning, wavefrontv1.BlockedReason, n, "is blocked: "+blockedCause(*n.Blocked), metadata)
	a.log.Info("blocked node", "node", n.ID.String(), "reason", n.Blocked.Reason, "ancestor", ancestorText(*n.Blocked), "candidate", n.Candidate)
}

// blockedCause says what a node waits for, in words.
func blockedCause(b fleet.Blocker) string {
	ancestor := fmt.Sprintf("%s %q", b.Ancestor.Kind, path(b.Ancestor))
	switch b.Reason {
	case fleet.AncestorUnhealthy:
		return "its ancestor " + ancestor + " is unhealthy"
	case fleet.AncestorHeld:
		return "its ancestor " + ancestor + " is held"
	case fleet.AncestorMissing:
		return "its ancestor " + ancestor + " does not exist"
	case fleet.AncestorUnobserved:
		return "the source of its ancestor " + ancestor + " can't be observed"
	case fleet.SelfHeld:
		return "its source is held"
	case fleet.SelfUnobserved:
		return "its source can't be observed"
	default:
		return string(b.Reason)
	}
}

func ancestorText(b fleet.Blocker) string {
	if b.Ancestor.IsZero() {
		return ""
	}
	return b.Ancestor.String()
}

// stuck announces nodes that converge for much longer than they are given.
func (a *announcer) stuck(ev *fleet.Evaluation) {
	present := make(map[fleet.ID]bool)
	for i := range ev.Nodes {
		n := &ev.Nodes[i]
		if n.State != fleet.Converging || n.Timeout <= 0 {
			continue
		}
		present[n.ID] = true
		entry, known := a.memory.converging[n.ID]
		if !known || entry.pin != n.Pin {
			entry = convergingSince{pin: n.Pin, since: a.now}
		}
		if !entry.announced && n.Foreign == "" && a.ripe(entry.since.Add(stuckFactor*n.Timeout)) {
			entry.announced = true
			a.tellNode(corev1.EventTypeWarning, wavefrontv1.StuckReason, n,
				"has been converging for longer than twice its timeout of "+n.Timeout.String(),
				map[string]string{eventv1.MetaRevisionKey: digestOf(n.Pin)})
			a.log.Info("node is stuck", "node", n.ID.String(), "pin", n.Pin, "timeout", n.Timeout.String())
		}
		a.memory.converging[n.ID] = entry
	}
	keep(a.memory.converging, present)
}

// nodeIndex finds nodes by ID.
type nodeIndex map[fleet.ID]*fleet.NodeResult

func index(ev *fleet.Evaluation) nodeIndex {
	nodes := make(nodeIndex, len(ev.Nodes))
	for i := range ev.Nodes {
		nodes[ev.Nodes[i].ID] = &ev.Nodes[i]
	}
	return nodes
}

// needsHelp tells whether what blocks will not pass by itself. An ancestor that
// merely waits to be listed again under the freshness rule will.
func (x nodeIndex) needsHelp(b fleet.Blocker) bool {
	if b.Reason != fleet.AncestorUnobserved {
		return lasting[b.Reason]
	}
	n := x[b.Ancestor]
	return n != nil && n.Blocked != nil && n.Blocked.Reason == fleet.SelfUnobserved
}

// trouble says what is wrong with a node.
func (x nodeIndex) trouble(id fleet.ID) string {
	n := x[id]
	if n == nil {
		return ""
	}
	if n.Trouble != "" {
		return n.Trouble
	}
	return n.ObservationError
}
