// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestMemory: what is remembered of a node is about one pin, and is forgotten at
// every change of it, even back to an old value.
func TestMemory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := fleet.Input{
		Nodes: []fleet.Node{{ID: fleet.ID{Name: "app"}, UID: "app", Source: idOf("repo")}},
		Sources: []fleet.Source{{
			ID: idOf("repo"), PinSeen: fleet.Instant{Seq: 7},
		}},
	}
	ev := fleet.Evaluation{Nodes: []fleet.NodeResult{{UID: "app", Source: idOf("repo"), Verdict: fleet.Good}, {Missing: true}}}
	m := &nodeMemory{}
	m.learn(&ev, pinsSeen(&in))
	state := m.at("app", 7)
	state.confirmed = true
	m.set("app", state)

	m.annotate(&in, pinsSeen(&in))
	g.Expect(in.Nodes[0].Confirmed).To(BeTrue())
	g.Expect(in.Nodes[0].Remembered).To(HaveValue(Equal(fleet.Good)))

	// An undecided verdict replaces none; the memory is still of the same pin.
	ev.Nodes[0].Verdict = fleet.Undecided
	m.learn(&ev, pinsSeen(&in))
	g.Expect(m.at("app", 7).confirmed).To(BeTrue())
	g.Expect(m.at("app", 7).verdict).To(HaveValue(Equal(fleet.Good)))

	moved := in
	moved.Nodes = []fleet.Node{{UID: "app", Source: idOf("repo")}}
	moved.Sources = []fleet.Source{{ID: idOf("repo"), PinSeen: fleet.Instant{Seq: 8}}}
	m.annotate(&moved, pinsSeen(&moved))
	g.Expect(moved.Nodes[0].Confirmed).To(BeFalse(), "the pin changed")
	g.Expect(moved.Nodes[0].Remembered).To(BeNil())

	m.learn(&fleet.Evaluation{}, nil)
	g.Expect(m.nodes).To(BeEmpty(), "nodes that are gone are forgotten")
}
