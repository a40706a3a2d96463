// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// change of one source: told on the source and on the Wavefront.
type change struct {
	eventType string
	reason    wavefrontv1.EventReason
	action    wavefrontv1.Action
	source    fleet.ID
	uid       string
	// note with one subject, where the copy on the Wavefront names the source.
	note     string
	metadata map[string]string
}

// subject is where a note names the source.
const subject = "{subject}"

func (c change) naming(source string) string { return strings.Replace(c.note, subject, source, 1) }

// signed says who speaks, on objects that others tell of too: an Alert selects
// these events by the beginning of their message.
func (a *announcer) signed(note string) string {
	return "wavefront/" + a.wf.Name + ": " + note
}

// tell emits the two events of a change of a source.
func (a *announcer) tell(c change) {
	source, wavefront := reference(c.source, c.uid), wavefrontReference(a.wf)
	metadata := a.metadata(c.metadata)
	a.send(Event{
		Type: c.eventType, Reason: c.reason, Action: c.action, Regarding: source, Related: wavefront,
		Note: a.signed(c.naming("")), Metadata: metadata,
	})
	a.send(Event{
		Type: c.eventType, Reason: c.reason, Action: c.action, Regarding: wavefront, Related: source,
		Note: c.naming(fmt.Sprintf(" of %s %q", c.source.Kind, path(c.source))), Metadata: metadata,
	})
}

// tellNode emits the event of a change of a node.
func (a *announcer) tellNode(eventType string, reason wavefrontv1.EventReason, n *fleet.NodeResult, note string, metadata map[string]string) {
	a.send(Event{
		Type: eventType, Reason: reason, Action: wavefrontv1.ActionEvaluate,
		Regarding: reference(n.ID, n.UID), Related: wavefrontReference(a.wf),
		Note: a.signed(note), Metadata: a.metadata(metadata),
	})
}

// tellFleet emits an event that concerns the Wavefront alone.
func (a *announcer) tellFleet(reason wavefrontv1.EventReason, related corev1.ObjectReference, note string) {
	a.send(Event{
		Type: corev1.EventTypeWarning, Reason: reason, Action: wavefrontv1.ActionEvaluate,
		Regarding: wavefrontReference(a.wf), Related: related,
		Note: note, Metadata: a.metadata(nil),
	})
}

func (a *announcer) send(e Event) {
	e.At, e.Note = a.now, cut(e.Note, MaxNote)
	a.events.Send(e)
}

// metadata adds what every event carries.
func (a *announcer) metadata(own map[string]string) map[string]string {
	all := maps.Clone(own)
	if all == nil {
		all = map[string]string{}
	}
	all[eventv1.MetaTokenKey] = a.token()
	all[MetaWavefrontKey] = a.wf.Name
	return all
}

// rememberPending keeps since when each source has had its candidate. What was
// read back stands until the source is observed in this process.
func (a *announcer) rememberPending(ev *fleet.Evaluation) {
	observed := map[fleet.ID]bool{}
	for i := range ev.Nodes {
		if n := &ev.Nodes[i]; n.Observed != "" {
			observed[n.Source] = true
		}
	}
	present := make(map[fleet.ID]bool, len(ev.Sources))
	for i := range ev.Sources {
		s := &ev.Sources[i]
		present[s.ID] = true
		known, ok := a.memory.pending[s.ID]
		switch {
		case s.Candidate != "" && known.candidate.Same(s.Candidate):
		case s.Candidate != "":
			a.memory.pending[s.ID] = pendingSince{candidate: s.Candidate, since: or(s.PendingSince, a.now)}
		case ok && (observed[s.ID] || known.candidate.Same(s.Pin)):
			delete(a.memory.pending, s.ID)
		}
	}
	keep(a.memory.pending, present)
	keep(a.memory.shadow, present)
}

// shadowAdmissions announces, once per candidate, what Enforce would admit.
func (a *announcer) shadowAdmissions(ev *fleet.Evaluation) {
	if a.wf.GetMode() != wavefrontv1.ModeShadow {
		clear(a.memory.shadow)
		return
	}
	for _, m := range ev.Moves {
		if m.Kind != fleet.Advance || a.memory.shadow[m.Source].Same(m.To) {
			continue
		}
		a.memory.shadow[m.Source] = m.To
		a.tell(change{
			eventType: corev1.EventTypeNormal, reason: wavefrontv1.ShadowAdmissionReason, action: wavefrontv1.ActionAdmit,
			source: m.Source, uid: uidOf(ev, m.Source),
			note:     "would advance the pin" + subject + " from " + short(m.From) + " to " + short(m.To),
			metadata: revisions(m.From, m.To),
		})
		a.metrics.attempted(a.wf, shadowed)
		if waited, known := a.waited(m.Source, m.To); known {
			a.metrics.waited(a.wf, waited)
		}
		a.log.Info("would admit revision", "source", path(m.Source), "from", m.From, "to", m.To)
	}
}

// holds announces holds that began and ended. A hold that only turns from a
// hand pin into a declared one, under the same manager, is the same hold.
func (a *announcer) holds(ev *fleet.Evaluation) {
	present := make(map[fleet.ID]bool, len(ev.Sources))
	for i := range ev.Sources {
		s := &ev.Sources[i]
		present[s.ID] = true
		known, was := a.memory.held[s.ID]
		switch {
		case s.Hold == nil && was:
			delete(a.memory.held, s.ID)
			a.holdReleased(s, cmp.Or(s.Pin, a.memory.heldPins[s.ID]))
		case s.Hold != nil:
			a.memory.held[s.ID] = *s.Hold
			a.memory.heldPins[s.ID] = cmp.Or(s.Pin, a.memory.heldPins[s.ID])
			if !was || differs(known, *s.Hold) {
				a.holdDetected(s)
			}
		}
	}
	keep(a.memory.held, present)
	keep(a.memory.heldPins, present)
}

// differs tells whether the hold is another one than what was announced. A hold
// that was read back without its reason is not.
func differs(known, now fleet.Hold) bool {
	switch {
	case known == (fleet.Hold{}), known == now:
		return false
	case claimed(known.Reason) && claimed(now.Reason):
		return known.Manager != now.Manager
	}
	return known.Reason != now.Reason
}

// claimed tells whether the hold comes from a manager that owns the commit.
func claimed(reason fleet.HoldReason) bool {
	return reason == fleet.HandPin || reason == fleet.Declared
}

func (a *announcer) holdDetected(s *fleet.SourceResult) {
	a.tell(change{
		eventType: corev1.EventTypeWarning, reason: wavefrontv1.HoldDetectedReason, action: wavefrontv1.ActionHold,
		source: s.ID, uid: s.UID, note: "holding the pin" + subject + ": " + holdCause(*s.Hold),
		metadata: map[string]string{
			eventv1.MetaRevisionKey: digestOf(s.Pin), MetaManagerKey: s.Hold.Manager,
		},
	})
	a.log.Info("detected hold", "source", path(s.ID), "reason", s.Hold.Reason, "manager", s.Hold.Manager, "pin", s.Pin)
}

func (a *announcer) holdReleased(s *fleet.SourceResult, pin fleet.Revision) {
	a.tell(change{
		eventType: corev1.EventTypeNormal, reason: wavefrontv1.HoldReleasedReason, action: wavefrontv1.ActionHold,
		source: s.ID, uid: s.UID, note: "the hold" + subject + " has ended, admission goes on",
		metadata: map[string]string{eventv1.MetaRevisionKey: digestOf(pin)},
	})
	a.log.Info("released hold", "source", path(s.ID), "pin", pin)
}

// holdCause says why a source is held, in words.
func holdCause(h fleet.Hold) string {
	switch h.Reason {
	case fleet.Suspend:
		return "the source, a node or a release of it is suspended"
	case fleet.UnsupportedRef:
		return "it follows a reference that can't be sequenced"
	default:
		return fmt.Sprintf("spec.ref.commit is owned by %q", h.Manager)
	}
}

// waited returns for how long the candidate has waited, where that is known: it is
// not of an admission that an earlier process made and did not live to tell of.
func (a *announcer) waited(source fleet.ID, to fleet.Revision) (wait time.Duration, known bool) {
	pending, ok := a.memory.pending[source]
	if !ok || !pending.candidate.Same(to) {
		return 0, false
	}
	return max(0, a.now.Sub(pending.since)), true
}

// revisions is the metadata of a move.
func revisions(from, to fleet.Revision) map[string]string {
	return map[string]string{eventv1.MetaRevisionKey: digestOf(to), MetaPreviousKey: digestOf(from)}
}

func or(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

// uidOf finds the UID of a source in scope; empty for any other.
func uidOf(ev *fleet.Evaluation, source fleet.ID) string {
	i, ok := slices.BinarySearchFunc(ev.Sources, source, func(s fleet.SourceResult, id fleet.ID) int {
		return s.ID.Compare(id)
	})
	if !ok {
		return ""
	}
	return ev.Sources[i].UID
}
