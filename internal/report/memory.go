// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// memory is what was announced of one Wavefront, and since when things last.
type memory struct {
	uid types.UID

	// pending by source, blocked and converging by node, held by source.
	pending    map[fleet.ID]pendingSince
	blocked    map[fleet.ID]blockedSince
	converging map[fleet.ID]convergingSince
	held       map[fleet.ID]fleet.Hold
	// heldPins are the pins of held sources: where a hold ends with its pin, the
	// pin is what it is told about.
	heldPins map[fleet.ID]fleet.Revision

	// shadow and failed hold the revision that was announced last, by source.
	shadow map[fleet.ID]fleet.Revision
	failed map[fleet.ID]fleet.Revision

	// enrolment, unsupported and coAdmitted hold what was announced and stands.
	enrolment   map[fleet.ID]bool
	unsupported map[fleet.ID]bool
	coAdmitted  map[string]bool
	// graph is what was announced of an invalid graph; empty for a valid one.
	graph string

	publishing schedule
}

// pendingSince is the candidate of a source and when it was first seen.
type pendingSince struct {
	candidate fleet.Revision
	since     time.Time
}

// blockedSince is what a node waits for.
type blockedSince struct {
	blocker fleet.Blocker
	// since the reason; stands since the reason and the ancestor.
	since, stands time.Time
	// announced is what the last event said; nil where there was none.
	announced *fleet.Blocker
	// clear is since when the node has waited for nothing; zero while it waits.
	clear time.Time
	pin   fleet.Revision
	// restored: read back from the status, and not observed in this process.
	restored bool
}

// convergingSince is a pin that a node is on its way to.
type convergingSince struct {
	pin       fleet.Revision
	since     time.Time
	announced bool
}

// restore reads back what an earlier process announced. It serves announcing
// only.
func restore(wf *wavefrontv1.Wavefront) *memory {
	m := &memory{
		uid:         wf.UID,
		pending:     map[fleet.ID]pendingSince{},
		blocked:     map[fleet.ID]blockedSince{},
		converging:  map[fleet.ID]convergingSince{},
		held:        map[fleet.ID]fleet.Hold{},
		heldPins:    map[fleet.ID]fleet.Revision{},
		shadow:      map[fleet.ID]fleet.Revision{},
		failed:      map[fleet.ID]fleet.Revision{},
		enrolment:   map[fleet.ID]bool{},
		unsupported: map[fleet.ID]bool{},
		coAdmitted:  map[string]bool{},
		publishing:  newSchedule(wf),
	}
	status := &wf.Status
	for i := range status.Members {
		m.restoreMember(wf, &status.Members[i])
	}
	for _, b := range status.Blocked {
		m.restoreBlocked(b)
	}
	for _, h := range status.Held {
		if source, ok := parsePath(fleet.KindGitRepository, h.Source); ok {
			m.held[source] = fleet.Hold{Reason: fleet.HoldReason(h.Reason), Manager: h.Manager}
		}
	}
	for _, group := range status.CoAdmitted {
		m.coAdmitted[groupKey(group)] = true
	}
	graph := apimeta.FindStatusCondition(status.Conditions, wavefrontv1.GraphValidCondition)
	if graph != nil && graph.Status == metav1.ConditionFalse {
		m.graph = graphKey(graph.Reason, graph.Message)
	}
	return m
}

// restoreMember seeds from a member; the capped lists refine it.
func (m *memory) restoreMember(wf *wavefrontv1.Wavefront, member *wavefrontv1.Member) {
	node := idOf(member.Node)
	source, hasSource := parsePath(fleet.KindGitRepository, member.Source)
	candidate := fleet.Revision(member.ObservedSHA)
	if b := member.Blocked; b != nil {
		blocker := blockerOf(b.Reason, b.Ancestor)
		m.blocked[node] = blockedSince{
			blocker: blocker, announced: announced(blocker),
			pin: fleet.Revision(member.Pin), restored: true,
		}
	}
	if !hasSource {
		return
	}
	if member.PendingSince != nil && candidate != "" {
		m.pending[source] = pendingSince{candidate: candidate, since: member.PendingSince.Time}
	}
	if member.State == wavefrontv1.StateAdmissible && wf.GetMode() == wavefrontv1.ModeShadow {
		m.shadow[source] = candidate
	}
	if member.Held {
		m.held[source] = fleet.Hold{}
	}
	if member.Role == wavefrontv1.RoleGate {
		m.unsupported[source] = true
	}
}

// restoreBlocked adds the age that only the capped list has.
func (m *memory) restoreBlocked(b wavefrontv1.BlockedNode) {
	node := idOf(b.Node)
	blocker := blockerOf(b.Reason, b.Ancestor)
	entry := m.blocked[node]
	entry.blocker, entry.announced, entry.restored = blocker, announced(blocker), true
	entry.since, entry.stands = b.Since.Time, b.Since.Time
	m.blocked[node] = entry
}

// announced returns the blocker where its reason is one that is announced.
func announced(b fleet.Blocker) *fleet.Blocker {
	if !lasting[b.Reason] {
		return nil
	}
	return &b
}

func blockerOf(reason string, ancestor *wavefrontv1.NodeReference) fleet.Blocker {
	b := fleet.Blocker{Reason: fleet.Reason(reason)}
	if ancestor != nil {
		b.Ancestor = idOf(*ancestor)
	}
	return b
}

func idOf(ref wavefrontv1.NodeReference) fleet.ID {
	return fleet.ID{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// groupKey identifies a group of sources that move together.
func groupKey(group []string) string { return strings.Join(group, " ") }

// graphKey identifies what is wrong with a graph.
func graphKey(reason, message string) string { return reason + ": " + message }

// keep drops the entries of a map whose objects are not in scope any more.
func keep[V any](entries map[fleet.ID]V, present map[fleet.ID]bool) {
	for id := range entries {
		if !present[id] {
			delete(entries, id)
		}
	}
}
