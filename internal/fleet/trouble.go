// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// detailBytes bounds what is quoted of a condition's message.
	detailBytes = 200
	// pinFailureLimit is how many failed writes in a row make a node
	// unhealthy.
	pinFailureLimit = 3
)

// trouble says why a node is unhealthy (design: unhealthy); empty if it is not.
func (j *judge) trouble(v int32) string {
	n := &j.nodes[v]
	switch {
	case n.pinned && j.sources[n.source].troubled:
		return sourceTrouble(&j.sources[n.source])
	case n.verdict == Bad:
		return badVerdict(n.in)
	}
	return j.releaseTrouble(v)
}

// pinTroubled tells whether the pin itself is in trouble: it can't be written, or
// it can't be fetched and there is no artifact at it.
func pinTroubled(s *source) bool {
	return s.in.PinFailures >= pinFailureLimit || (s.in.FetchFailed && s.pin != "" && !s.atPin)
}

// sourceTrouble says why the pin is in trouble.
func sourceTrouble(s *source) string {
	if s.in.PinFailures >= pinFailureLimit {
		return fmt.Sprintf("the pin of %s can't be written (failed %d times running)", quoted(s.in.ID), s.in.PinFailures)
	}
	return fmt.Sprintf("%s can't fetch its pinned commit: %s", quoted(s.in.ID), detail(s.in.Ready))
}

// badVerdict renders a bad verdict as a sentence. While the object is being
// reconciled again its condition says nothing of the failure.
func badVerdict(n *Node) string {
	if n.Ready.Status == False {
		return notReady(n.ID, n.Ready)
	}
	return quoted(n.ID) + " failed at its last reconciliation"
}

// quoted renders an object in a sentence: Kind "ns/name".
func quoted(id ID) string { return fmt.Sprintf("%s %q", id.Kind, id.Namespace+"/"+id.Name) }

// notReady renders a bad object as a sentence.
func notReady(id ID, c Condition) string { return quoted(id) + " is not ready: " + detail(c) }

// detail quotes reason and message of a condition: the first line, cut to a
// readable length.
func detail(c Condition) string {
	message, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	if len(message) > detailBytes {
		cut := detailBytes
		for cut > 0 && !utf8.RuneStart(message[cut]) {
			cut--
		}
		message = message[:cut] + "…"
	}
	switch {
	case c.Reason == "":
		return message
	case message == "":
		return c.Reason
	}
	return c.Reason + ": " + message
}
