// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// descent is what a node learns from its ancestors, in two flavours: "full"
// speaks of the node and all its ancestors, "gate" of the ancestors outside the
// node's group only. It fills one line of a processor's cache.
type descent struct {
	// fullBlocker and gateBlocker are the nearest unsettled of them. Outside
	// cycles full(N) is that there is no fullBlocker, gate(N) that there is no
	// gateBlocker.
	fullBlocker nearest
	gateBlocker nearest
	// cycle is the nearest node on a cycle, contested the nearest one on a
	// contested source: the node itself, or an ancestor.
	cycle     nearest
	contested nearest
	// fullOldest and gateOldest are those whose source's latest observation
	// started the earliest.
	fullOldest oldest
	gateOldest oldest
}

// knowingNothing is what there is to learn from no ancestors.
var knowingNothing = descent{
	fullBlocker: nobody, gateBlocker: nobody, cycle: nobody, contested: nobody,
	fullOldest: oldest{rank: none}, gateOldest: oldest{rank: none},
}

// full is the value of section "the graph": the node and all its transitive
// ancestors are settled.
func (j *judge) full(v int32) bool { return !j.cyclic(v) && !j.down[v].fullBlocker.found() }

// gate is the other: all ancestors of the node outside its group are settled.
func (j *judge) gate(v int32) bool { return !j.cyclic(v) && !j.down[v].gateBlocker.found() }

// own is what a node tells its dependents of itself alone.
func (j *judge) own(v int32) descent {
	n, d := &j.nodes[v], knowingNothing
	if !n.settled {
		d.fullBlocker = at(n.rank)
	}
	if j.inCycle[v] {
		d.cycle = at(n.rank)
	}
	if !n.pinned {
		return d
	}
	s := &j.sources[n.source]
	if s.contested {
		d.contested = at(n.rank)
	}
	if s.observed {
		d.fullOldest = oldest{seq: j.latestStart(v).Seq, rank: n.rank}
	}
	return d
}

// descend carries the values of section "the graph" from roots to leaves, in
// one pass.
func (j *judge) descend() {
	j.down = blank(&j.scratch.down, len(j.nodes))
	j.wave = make([]int32, len(j.nodes))
	for v := range j.nodes {
		j.down[v], j.wave[v] = j.own(int32(v)), none
	}
	for _, v := range j.components.order {
		j.inherit(v, &j.down[v])
		if !j.cyclic(v) {
			j.wave[v] = j.waveOf(v)
		}
	}
}

// inherit adds what the parents of a node know to what it tells itself.
func (j *judge) inherit(v int32, d *descent) {
	for _, p := range j.parents.of(v) {
		up := &j.down[p]
		d.cycle = d.cycle.closer(up.cycle.oneFurther())
		d.contested = d.contested.closer(up.contested.oneFurther())
		if j.lacks(transitiveRule) {
			alone := j.own(p)
			up = &alone
		}
		d.fullBlocker = d.fullBlocker.closer(up.fullBlocker.oneFurther())
		d.fullOldest = d.fullOldest.older(up.fullOldest)
		if j.group[p] == j.group[v] {
			d.gateBlocker = d.gateBlocker.closer(up.gateBlocker.oneFurther())
			d.gateOldest = d.gateOldest.older(up.gateOldest)
		} else {
			d.gateBlocker = d.gateBlocker.closer(up.fullBlocker.oneFurther())
			d.gateOldest = d.gateOldest.older(up.fullOldest)
		}
	}
}

// waveOf is the longest path from a root.
func (j *judge) waveOf(v int32) int32 {
	wave := int32(0)
	for _, p := range j.parents.of(v) {
		wave = max(wave, j.wave[p]+1)
	}
	return wave
}
