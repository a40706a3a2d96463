// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"strings"
	"time"
)

// clause names a part of the rules that tests leave out, to see that its
// absence is noticed. Production code leaves out nothing.
type clause uint

const (
	// freshnessRule: ancestors are listed after the candidate was first seen.
	freshnessRule clause = 1 << iota
	// transitiveRule: all ancestors gate, not only direct ones.
	transitiveRule
	// groupRule: members of a group never gate each other.
	groupRule
	// pendingRule: a node with something pending is not settled.
	pendingRule
	// holdRule: held sources are not moved.
	holdRule
	// pinSeenRule: an observation from before the pin became what it is now
	// says nothing.
	pinSeenRule
	// chartsRule: charts and releases are on the artifact.
	chartsRule
	// attemptedRule: a verdict counts only if it is about the pin.
	attemptedRule
	// declaredRule: nothing is pending on a source whose commit Git renders.
	declaredRule
	// neverPinnedRule: a held source that was never pinned counts as settled.
	neverPinnedRule
)

// Evaluate applies the rules to what is known of a fleet. It is a pure function,
// linear in nodes, edges, sources and releases (but for sorting).
func Evaluate(in Input) Evaluation { return evaluate(in, 0) }

// evaluate applies the rules without the given clauses.
func evaluate(in Input, without clause) Evaluation {
	memory := scratches.Get().(*scratch)
	defer memory.release()
	j := judge{in: &in, without: without, memory: memory}
	var out Evaluation
	j.prepare(&out)
	j.judgeSources()
	j.sortTopologically(&out)
	j.contract(&out)
	j.judgeNodes(&out)
	j.descend()
	j.admit()
	j.decideStates()
	j.report(&out)
	return out
}

// judge holds one evaluation. Nodes and sources are addressed by their place in
// slices that are sorted by ID, so that comparing places compares IDs.
type judge struct {
	in      *Input
	without clause
	memory  *scratch

	peers     []Wavefront
	peerIndex map[string]int32
	// sourceIndex finds a source in Input.Sources.
	sourceIndex index
	// builtFrom is the place in Input.Sources of the source of each of
	// Input.Nodes; none where it can't be read.
	builtFrom []int32
	// own tells of each of Input.Nodes whether the judged Wavefront selects
	// it.
	own []bool

	nodes   []node
	sources []source
	// parents are the edges of the node graph, from a node to what it depends
	// on.
	parents edges
	// component numbers the strongly connected components of the node graph.
	component []int32
	// topological lists the nodes with every dependency before its dependents;
	// nodes of one cycle are adjacent.
	topological []int32
	// group of each node; nodes that can only move together share one.
	group []int32
}

// lacks tells whether the evaluation leaves a clause out.
func (j *judge) lacks(c clause) bool { return j.without&c != 0 }

// node is what the rules know of one node of the graph.
type node struct {
	id *ID
	// in is nil for a missing node.
	in *Node
	// source is the place of the source in judge.sources; none where it can't
	// be read.
	source int32
	// pinned nodes are moved by a pin; all others are gates.
	pinned bool
	// own: selected by the judged Wavefront.
	own bool
	// selected by the Wavefront that keeps its source: its edges hold the
	// source.
	selected bool
	hold     *Hold

	verdict Verdict
	ready   bool
	// releases of the node, as places in judge.in.Releases.
	releases []int32
	charts   bool

	settled     bool
	unconfirmed bool
	unhealthy   bool
	// undecidedIn is how long from now time alone changes the verdict; zero
	// if it does not.
	undecidedIn time.Duration
	trouble     string

	inCycle     bool
	behindCycle bool
	wave        int32

	down    descent
	state   State
	blocker *Blocker
}

// source is what the rules know of one source of a node of the graph.
type source struct {
	in *Source
	// input is the place in Input.Sources.
	input int32
	// keeper is the Wavefront whose pins move it: self, a place in
	// judge.peers, or none if its nodes are gates.
	keeper    int32
	contested bool
	nodes     []int32
	releases  []int32

	pin      Revision
	real     bool
	hold     *Hold
	counting *Observation
	stale    bool
	unseen   bool // can't be observed: failed or stale
	// since is when the latest observation started, or since when one is
	// awaited.
	since     Instant
	observed  bool // needs an observation
	candidate Revision
	atPin     bool

	notEnrolled     bool
	enrolmentFailed bool
	cloning         bool // takes one of the slots

	blocker *Blocker
	// culprit is the node that blocks the source; none if none does.
	culprit int32
	// movable: a candidate that may move but for a suspended Wavefront.
	movable bool
}

// pending tells whether the source has a candidate.
func (s *source) pending() bool { return s.candidate != "" }

// admissible tells whether the candidate may move now.
func (s *source) admissible() bool { return s.pending() && s.blocker == nil }

// prepare finds scope, nodes and sources.
func (j *judge) prepare(out *Evaluation) {
	for i := range j.in.Peers {
		if p := j.in.Peers[i]; p.Name != j.in.Self.Name && !p.Deleting {
			j.peers = append(j.peers, p)
		}
	}
	slices.SortStableFunc(j.peers, func(a, b Wavefront) int { return strings.Compare(a.Name, b.Name) })
	j.peerIndex = make(map[string]int32, len(j.peers))
	for i := range j.peers {
		j.peerIndex[j.peers[i].Name] = int32(i)
	}
	j.indexSources()
	scopes := j.scopes()
	j.discover(scopes)
	j.gather(scopes)
	j.overlaps(scopes, out)
}

// indexSources finds sources by ID, and the source of every node; of two sources
// with one ID, which a cluster does not have, the one with the greater UID
// counts.
func (j *judge) indexSources() {
	j.sourceIndex = newIndex(len(j.in.Sources), &j.memory.sourceIDs, &j.memory.sourceSlots)
	for i := range j.in.Sources {
		s := &j.in.Sources[i]
		if other, slot := j.sourceIndex.enter(&s.ID); other != none && j.in.Sources[other].UID < s.UID {
			slot.place = int32(i) + 1
		}
	}
	j.builtFrom = make([]int32, len(j.in.Nodes))
	for i := range j.in.Nodes {
		j.builtFrom[i] = j.sourceIndex.at(&j.in.Nodes[i].Source)
	}
}

// gather lists the sources of the graph's nodes, in the order of their IDs, with
// their nodes and releases.
func (j *judge) gather(scopes []scope) {
	// place of each of Input.Sources in judge.sources, and before that the
	// number of its nodes.
	place := make([]int32, len(j.in.Sources))
	var used []int32
	total := 0
	for v := range j.nodes {
		if i := j.nodes[v].source; i != none {
			if place[i] == 0 {
				used = append(used, i)
			}
			place[i]++
			total++
		}
	}
	sortByID(used, func(i int32) *ID { return &j.sourceIndex.ids[i] })
	j.sources = blank(&j.memory.sources, len(used))
	members := make([]int32, total)
	for p, i := range used {
		j.sources[p] = source{
			in: &j.in.Sources[i], input: i, keeper: j.keeper(scopes[i]), culprit: none,
			nodes: members[:0:place[i]],
		}
		members, place[i] = members[place[i]:], int32(p)
	}
	for v := range j.nodes {
		if n := &j.nodes[v]; n.source != none {
			n.source = place[n.source]
			s := &j.sources[n.source]
			s.nodes = append(s.nodes, int32(v))
		}
	}
	j.gatherReleases()
}

// gatherReleases hands each release to its source, in the order of their IDs.
func (j *judge) gatherReleases() {
	order := make([]int32, len(j.in.Releases))
	for i := range order {
		order[i] = int32(i)
	}
	sortByID(order, func(i int32) *ID { return &j.in.Releases[i].ID })
	for _, r := range order {
		if s := j.findSource(&j.in.Releases[r].Source); s != nil {
			s.releases = append(s.releases, r)
		}
	}
}

// findSource returns a source of the graph's nodes; nil if it is none.
func (j *judge) findSource(id *ID) *source {
	i, found := slices.BinarySearchFunc(j.sources, id, func(s source, id *ID) int { return compareIDs(&s.in.ID, id) })
	if !found {
		return nil
	}
	return &j.sources[i]
}

// judgeSources judges every source by itself.
func (j *judge) judgeSources() {
	for i := range j.sources {
		j.judgeSource(&j.sources[i])
	}
}

// judgeNodes judges every node by itself.
func (j *judge) judgeNodes(out *Evaluation) {
	for v := range j.nodes {
		j.judgeNode(int32(v))
	}
	j.entangled()
	for v := range j.nodes {
		if j.nodes[v].unconfirmed {
			out.Confirm = append(out.Confirm, *j.nodes[v].id)
		}
	}
}

// judgeSource establishes the facts of a source that the rules of its nodes
// stand on.
func (j *judge) judgeSource(s *source) {
	if s.keeper == none {
		return
	}
	for _, v := range s.nodes {
		j.nodes[v].selected = j.selects(s, &j.nodes[v])
	}
	s.hold = j.sourceHold(s)
	s.pin, s.real = j.effectivePin(s)
	if s.pin == "" && s.keeper >= 0 && j.peers[s.keeper].Mode == Shadow {
		s.keeper, s.hold = none, nil
		return
	}
	for _, v := range s.nodes {
		j.nodes[v].pinned = true
	}
	j.observe(s)
	s.atPin = s.in.Artifact.Same(s.pin)
	j.enrolment(s)
}

// selects tells whether the Wavefront that keeps the source selects the node.
func (j *judge) selects(s *source, n *node) bool {
	if s.keeper == self {
		return n.own
	}
	return slices.Contains(n.in.SelectedBy, j.peers[s.keeper].Name)
}
