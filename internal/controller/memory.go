// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// nodeMemory is what one Wavefront's passes remember of the nodes. All of it is
// about one pin: it is forgotten when the pin of the node's source changes, even
// back to an old value.
type nodeMemory struct {
	// nodes by UID.
	nodes map[string]nodeState
}

// nodeState is the memory of one node.
type nodeState struct {
	// pin is when the process saw the source's pin become what it is.
	pin uint64
	// confirmed: live reads have shown the node settled at the pin.
	confirmed bool
	// verdict is the last one, for Flux before 2.7.
	verdict *fleet.Verdict
	// reading is the fingerprint of the first of two live reads that must agree;
	// empty while there is none.
	reading string
	// shown is the fingerprint of what the cache showed when the node was last
	// read live and not confirmed. While it shows the same, the node is not read
	// again before again (monotonic).
	shown string
	again time.Duration
}

// pinsSeen maps each source to when its pin became what it is.
func pinsSeen(in *fleet.Input) map[fleet.ID]uint64 {
	seen := make(map[fleet.ID]uint64, len(in.Sources))
	for i := range in.Sources {
		seen[in.Sources[i].ID] = in.Sources[i].PinSeen.Seq
	}
	return seen
}

// annotate fills in what the process remembers of each node at its present pin.
func (m *nodeMemory) annotate(in *fleet.Input, pins map[fleet.ID]uint64) {
	for i := range in.Nodes {
		n := &in.Nodes[i]
		s, ok := m.nodes[n.UID]
		if !ok || s.pin != pins[n.Source] {
			continue
		}
		n.Confirmed, n.Remembered = s.confirmed, s.verdict
	}
}

// learn remembers the verdicts of a pass and forgets nodes that are gone.
func (m *nodeMemory) learn(ev *fleet.Evaluation, pins map[fleet.ID]uint64) {
	next := make(map[string]nodeState, len(ev.Nodes))
	for i := range ev.Nodes {
		n := &ev.Nodes[i]
		if n.UID == "" {
			continue
		}
		s := m.at(n.UID, pins[n.Source])
		if n.Verdict == fleet.Good || n.Verdict == fleet.Bad {
			verdict := n.Verdict
			s.verdict = &verdict
		}
		next[n.UID] = s
	}
	m.nodes = next
}

// at returns the memory of a node at a pin; empty if it is about another pin.
func (m *nodeMemory) at(uid string, pin uint64) nodeState {
	s := m.nodes[uid]
	if s.pin != pin {
		return nodeState{pin: pin}
	}
	return s
}

// set replaces the memory of a node.
func (m *nodeMemory) set(uid string, s nodeState) {
	if m.nodes == nil {
		m.nodes = map[string]nodeState{}
	}
	m.nodes[uid] = s
}
