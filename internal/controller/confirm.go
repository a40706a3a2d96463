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
	// helm controllers write conditions and status in two patches. A node that
	// was not confirmed is left alone for as long, unless the cache moves on.
	confirmGap = time.Second
)

// confirmation reads the nodes that would be settled from the API server: two
// caches, each a little behind, can together show a state that never was.
type confirmation struct {
	reconciler *WavefrontReconciler
	scope      *scope
	wavefront  string
	// cached is the judgement that the nodes would be settled by.
	cached *judgement
	// live and in are the same, read from the API server.
	live *cluster.Snapshot
	in   fleet.Input
}

// run tells whether a node was confirmed, so that the fleet is to be judged
// again, and when to try those that were not (zero: an event will tell).
func (c *confirmation) run(ctx context.Context) (changed bool, retry time.Duration, err error) {
	nodes, retry := c.due()
	if len(nodes) == 0 {
		return false, retry, nil
	}
	if c.live, err = c.cached.snap.Reread(ctx, c.reconciler.Live, nodes); err != nil {
		return false, 0, err
	}
	if c.in, err = c.reconciler.input(c.scope, c.live, c.wavefront, nil); err != nil {
		return false, 0, err
	}
	settled := c.wouldSettle(nodes)
	pins, known, read := pinsSeen(&c.in), sourcesByID(&c.cached.in), sourcesByID(&c.in)
	for i := range c.in.Nodes {
		node := &c.in.Nodes[i]
		good, wanted := settled[node.ID]
		if !wanted {
			continue
		}
		if c.note(node, good && samePin(known[node.Source], read[node.Source]), pins[node.Source]) {
			changed = true
		} else {
			retry = soonest(retry, confirmGap)
		}
	}
	return changed, retry, nil
}

// note remembers what was read of a node, and tells whether it is confirmed.
func (c *confirmation) note(node *fleet.Node, settled bool, pin uint64) bool {
	state := c.scope.memory.at(node.UID, pin)
	if settled {
		state.confirmed = c.agreed(&state, node)
	} else {
		state.reading = ""
	}
	if !state.confirmed {
		state.shown, state.again = c.cached.snap.Fingerprint(node.ID), c.reconciler.Clock.Since()+confirmGap
	}
	c.scope.memory.set(node.UID, state)
	return state.confirmed
}

// due picks the nodes to be read now, and says when to come back for the others.
func (c *confirmation) due() (nodes []fleet.ID, retry time.Duration) {
	wanted := make(map[fleet.ID]bool, len(c.cached.ev.Confirm))
	for _, id := range c.cached.ev.Confirm {
		wanted[id] = true
	}
	now, pins := c.reconciler.Clock.Since(), pinsSeen(&c.cached.in)
	for i := range c.cached.in.Nodes {
		node := &c.cached.in.Nodes[i]
		if !wanted[node.ID] {
			continue
		}
		state := c.scope.memory.at(node.UID, pins[node.Source])
		switch rest := state.again - now; {
		case rest > 0 && (state.reading != "" || state.shown == c.cached.snap.Fingerprint(node.ID)):
			retry = soonest(retry, rest)
		case len(nodes) == confirmBatch:
			return nodes, time.Millisecond
		default:
			nodes = append(nodes, node.ID)
		}
	}
	return nodes, retry
}

// agreed tells whether a node that live reads show settled is confirmed: at once
// if it has no charts, else by a second reading that agrees with the first.
func (c *confirmation) agreed(state *nodeState, node *fleet.Node) bool {
	if !hasCharts(&c.in, node) {
		return true
	}
	reading := c.live.Fingerprint(node.ID)
	agrees := state.reading == reading
	state.reading = reading
	return agrees
}

// samePin tells whether the pin that was read live is the one that the process
// has seen, and nothing has happened to it in between: a confirmation is about
// one pin.
func samePin(known, read *fleet.Source) bool {
	if known == nil || read == nil {
		return known == read
	}
	return known.UID == read.UID && known.Pin == read.Pin && known.PinSeen.Seq == read.PinSeen.Seq &&
		known.URL == read.URL && known.Ref == read.Ref
}

// wouldSettle judges the live facts as if the nodes were confirmed.
func (c *confirmation) wouldSettle(nodes []fleet.ID) map[fleet.ID]bool {
	in := c.in
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
	ev := c.scope.evaluator.Evaluate(in)
	for i := range ev.Nodes {
		if _, wanted := settled[ev.Nodes[i].ID]; wanted {
			settled[ev.Nodes[i].ID] = ev.Nodes[i].Settled
		}
	}
	return settled
}

// hasCharts tells whether a release counts for the node.
func hasCharts(in *fleet.Input, node *fleet.Node) bool {
	return slices.ContainsFunc(in.Releases, func(r fleet.Release) bool {
		return !r.Source.IsZero() && (r.Source == node.Source || r.AppliedBy == node.ID)
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
