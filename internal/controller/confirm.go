// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"time"

	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	// confirmBatch bounds the live reads of one pass: after a start every node
	// of the fleet wants one, and nobody else may wait for that.
	confirmBatch = 50

	// confirmGap lies between the two live reads of a node with charts: the
	// helm controllers write conditions and status in two patches.
	confirmGap = time.Second
)

// confirmation reads the nodes that would be settled from the API server: two
// caches, each a little behind, can together show a state that never was.
type confirmation struct {
	reconciler *WavefrontReconciler
	scope      *scope
	wavefront  string
}

// run tells whether a node was confirmed, so that the fleet is to be judged
// again, and when to try those that were not (zero: an event will tell).
func (c *confirmation) run(ctx context.Context, j *judgement) (changed bool, retry time.Duration, err error) {
	nodes := j.ev.Confirm
	if len(nodes) > confirmBatch {
		nodes, retry = nodes[:confirmBatch], time.Millisecond
	}
	live, err := j.snap.Reread(ctx, c.reconciler.Live, nodes)
	if err != nil {
		return false, 0, err
	}
	in, err := c.reconciler.input(c.scope, live, c.wavefront)
	if err != nil {
		return false, 0, err
	}
	settled := wouldSettle(in, nodes)
	pins, known, read := pinsSeen(&in), sourcesByID(&j.in), sourcesByID(&in)
	for i := range in.Nodes {
		node := &in.Nodes[i]
		if !settled[node.ID] || !samePin(known[node.Source], read[node.Source]) {
			continue
		}
		state := c.scope.memory.at(node.UID, pins[node.Source])
		if wait := c.secondReading(&state, &in, live, node); wait > 0 {
			retry = soonest(retry, wait)
		} else {
			state.confirmed, state.reading = true, ""
			changed = true
		}
		c.scope.memory.set(node.UID, state)
	}
	return changed, retry, nil
}

// samePin tells whether the pin that was read live is the one that the process
// has seen: a confirmation is about one pin.
func samePin(known, read *fleet.Source) bool {
	return known == nil && read == nil ||
		known != nil && read != nil && known.UID == read.UID && known.Pin == read.Pin && known.URL == read.URL && known.Ref == read.Ref
}

// wouldSettle judges the live facts as if the nodes were confirmed.
func wouldSettle(in fleet.Input, nodes []fleet.ID) map[fleet.ID]bool {
	settled := make(map[fleet.ID]bool, len(nodes))
	for _, id := range nodes {
		settled[id] = false
	}
	in.Nodes = slices.Clone(in.Nodes)
	for i := range in.Nodes {
		if _, wanted := settled[in.Nodes[i].ID]; wanted {
			in.Nodes[i].Confirmed = true
		}
	}
	ev := fleet.Evaluate(in)
	for i := range ev.Nodes {
		if _, wanted := settled[ev.Nodes[i].ID]; wanted {
			settled[ev.Nodes[i].ID] = ev.Nodes[i].Settled
		}
	}
	return settled
}

// secondReading tells how long to wait for the second live read of a node with
// charts; zero if the node has none, or both reads agreed, confirmGap apart.
func (c *confirmation) secondReading(state *nodeState, in *fleet.Input, live *cluster.Snapshot, node *fleet.Node) time.Duration {
	if !hasCharts(in, node) {
		return 0
	}
	now := c.reconciler.Clock.Since()
	reading := live.Fingerprint(node.ID)
	if state.reading != reading {
		state.reading, state.readAt = reading, now
		return confirmGap
	}
	return max(0, confirmGap-(now-state.readAt))
}

// hasCharts tells whether a release counts for the node.
func hasCharts(in *fleet.Input, node *fleet.Node) bool {
	return slices.ContainsFunc(in.Releases, func(r fleet.Release) bool {
		return r.Source == node.Source || r.AppliedBy == node.ID
	})
}

// soonest returns the shorter of two waits, where zero means none.
func soonest(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
