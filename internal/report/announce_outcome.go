// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// outcomes announces what came of the writes.
func (a *announcer) outcomes(outcomes []Outcome, ev *fleet.Evaluation) {
	for _, o := range outcomes {
		if o.UID == "" {
			o.UID = uidOf(ev, o.Source)
		}
		a.outcome(o)
	}
}

// outcome announces one.
func (a *announcer) outcome(o Outcome) {
	switch o.Result {
	case Failed:
		a.pinFailed(o)
	case Conflicted:
		a.metrics.attempted(a.wf, o.Result)
	case Kept, Released:
		a.letGo(o)
	default:
		a.admitted(o)
	}
}

// admitted announces a pin that was written.
func (a *announcer) admitted(o Outcome) {
	delete(a.memory.failed, o.Source)
	a.metrics.attempted(a.wf, o.Result)
	log := a.log.WithValues("source", path(o.Source), "result", o.Result, "from", o.From, "to", o.To)
	if waited, known := a.waited(o.Source, o.To); known && o.Result == Advanced {
		a.metrics.waited(a.wf, waited)
		log = log.WithValues("waited", waited.String())
	}
	c := change{
		eventType: corev1.EventTypeNormal, action: wavefrontv1.ActionPin,
		source: o.Source, uid: o.UID, metadata: revisions(o.From, o.To),
	}
	switch o.Result {
	case Initial:
		c.reason, c.note = wavefrontv1.InitialPinReason, "pinned the commit"+subject+" at "+short(o.To)
		if o.VoidRecord {
			c.eventType = corev1.EventTypeWarning
			c.note += "; the pin recorded before could not be used"
		}
	case Restored:
		c.eventType = corev1.EventTypeWarning
		c.reason, c.note = wavefrontv1.PinRestoredReason, "restored the pin"+subject+" at "+short(o.To)+", it had vanished"
	default:
		c.reason, c.note = wavefrontv1.PinAdvancedReason, "advanced the pin"+subject+" from "+short(o.From)+" to "+short(o.To)
	}
	a.tell(c)
	log.Info("admitted revision")
}

// pinFailed announces a failure once for the revision that could not be pinned.
func (a *announcer) pinFailed(o Outcome) {
	a.metrics.attempted(a.wf, o.Result)
	if known, ok := a.memory.failed[o.Source]; ok && known == o.To {
		return
	}
	a.memory.failed[o.Source] = o.To
	note := "failed to write the pin" + subject + " at " + short(o.To)
	if o.To == "" {
		note = "failed to release the pin" + subject + " at " + short(o.From)
	}
	metadata := revisions(o.From, o.To)
	metadata[MetaTroubleKey] = fmt.Sprint(o.Err)
	a.tell(change{
		eventType: corev1.EventTypeWarning, reason: wavefrontv1.PinFailedReason, action: wavefrontv1.ActionPin,
		source: o.Source, uid: o.UID, note: note, metadata: metadata,
	})
	a.log.Error(o.Err, "failed to write pin", "source", path(o.Source), "from", o.From, "to", o.To)
}

// letGo announces a release, and how to make a source float that keeps its pin.
func (a *announcer) letGo(o Outcome) {
	c := change{
		eventType: corev1.EventTypeNormal, action: wavefrontv1.ActionRelease,
		source: o.Source, uid: o.UID,
		metadata: map[string]string{eventv1.MetaRevisionKey: digestOf(o.From)},
	}
	if o.Result == Released {
		c.reason = wavefrontv1.PinReleasedReason
		c.note = "released the pin" + subject + " at " + short(o.From) + ", the source follows its reference again"
	} else {
		c.reason = wavefrontv1.PinKeptReason
		c.note = "let go of the pin" + subject + " and kept it at " + short(o.From) +
			"; to make the source follow its reference again: kubectl -n " + o.Source.Namespace + " patch gitrepository " + o.Source.Name +
			` --type=merge --field-manager=wfctl -p '{"spec":{"ref":{"commit":null}}}'`
	}
	a.tell(c)
	delete(a.memory.held, o.Source)
	a.log.Info("released source", "source", path(o.Source), "result", o.Result, "pin", o.From)
}
