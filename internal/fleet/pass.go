// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// descent is what a node learns from its ancestors, in two flavours: "full"
// speaks of the node and all its ancestors, "gate" of the ancestors outside the
// node's group only.
type descent struct {
	full bool
	gate bool
	// fullBlocker and gateBlocker are the nearest unsettled of them.
	fullBlocker nearest
	gateBlocker nearest
	// fullOldest and gateOldest are those whose source's latest observation
	// started the earliest.
	fullOldest oldest
	gateOldest oldest
	// cycle is the nearest ancestor on a cycle, contested the nearest one on
	// a contested source.
	cycle     nearest
	contested nearest
}

// knowingNothing is what a root learns.
var knowingNothing = descent{
	full: true, gate: true,
	fullBlocker: nobody, gateBlocker: nobody, cycle: nobody, contested: nobody,
	fullOldest: oldest{node: none}, gateOldest: oldest{node: none},
}

// descend carries the values of section "the graph" from roots to leaves, in
// one pass.
func (j *judge) descend() {
	for v := range j.nodes {
		if j.nodes[v].inCycle {
			// Some of a cycle's nodes are asked before it is their turn.
			j.nodes[v].down = knowingNothing
		}
	}
	for _, v := range j.topological {
		n := &j.nodes[v]
		n.wave = none
		n.down = j.inherit(v)
		n.down.full = n.down.full && n.settled
		if !n.settled {
			n.down.fullBlocker = nearest{node: v}
		}
		if j.isObserved(n) {
			n.down.fullOldest = n.down.fullOldest.older(oldest{seq: j.latestStart(v).Seq, node: v})
		}
		if n.cyclic() {
			n.down.full, n.down.gate = false, false
		} else {
			n.wave = j.waveOf(v)
		}
	}
}

// inherit combines what the parents know.
func (j *judge) inherit(v int32) descent {
	d := knowingNothing
	for _, p := range j.parents.of(v) {
		parent := &j.nodes[p]
		up := &parent.down
		if j.lacks(transitiveRule) {
			up = j.direct(p)
		}
		gate, blocker, oldest := up.full, up.fullBlocker, up.fullOldest
		if j.group[p] == j.group[v] {
			gate, blocker, oldest = up.gate, up.gateBlocker, up.gateOldest
		}
		d.full = d.full && up.full
		d.gate = d.gate && gate
		d.fullBlocker = d.fullBlocker.closer(up.fullBlocker.oneFurther())
		d.gateBlocker = d.gateBlocker.closer(blocker.oneFurther())
		d.fullOldest = d.fullOldest.older(up.fullOldest)
		d.gateOldest = d.gateOldest.older(oldest)
		d.inheritMarks(j, p)
	}
	return d
}

// inheritMarks carries what is blocked whatever the group.
func (d *descent) inheritMarks(j *judge, p int32) {
	parent := &j.nodes[p]
	cycle, contested := parent.down.cycle, parent.down.contested
	if parent.inCycle {
		cycle = nearest{node: p}
	}
	if parent.pinned && j.sources[parent.source].contested {
		contested = nearest{node: p}
	}
	d.cycle = d.cycle.closer(cycle.oneFurther())
	d.contested = d.contested.closer(contested.oneFurther())
}

// direct is what a node knows of itself alone; a wrong reading of the rules that
// tests must notice.
func (j *judge) direct(p int32) *descent {
	d := knowingNothing
	if d.full = j.nodes[p].settled; !d.full {
		d.fullBlocker = nearest{node: p}
	}
	if j.isObserved(&j.nodes[p]) {
		d.fullOldest = oldest{seq: j.latestStart(p).Seq, node: p}
	}
	return &d
}

// waveOf is the longest path from a root.
func (j *judge) waveOf(v int32) int32 {
	wave := int32(0)
	for _, p := range j.parents.of(v) {
		wave = max(wave, j.nodes[p].wave+1)
	}
	return wave
}

// isObserved tells whether the node is pinned by a source that must be observed:
// those are the ones that the freshness rule asks for.
func (j *judge) isObserved(n *node) bool {
	return n.pinned && j.sources[n.source].observed
}

// oldest is the node whose source's latest observation started the earliest; a
// source without one comes before all others.
type oldest struct {
	seq  uint64
	node int32 // none if no source is observed
}

// older returns the one that started earlier; of two in one moment, the smaller
// ID.
func (a oldest) older(b oldest) oldest {
	if a.node == none || (b.node != none && (b.seq < a.seq || (b.seq == a.seq && b.node < a.node))) {
		return b
	}
	return a
}

// latestStart is when the latest observation of the node's source started; the
// zero Instant if none counts.
func (j *judge) latestStart(v int32) Instant {
	if s := &j.sources[j.nodes[v].source]; s.counting != nil {
		return s.since
	}
	return Instant{}
}
