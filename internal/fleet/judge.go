// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

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
func Evaluate(in Input) Evaluation { return new(Evaluator).Evaluate(in) }

// evaluate applies the rules without the given clauses.
func (e *Evaluator) evaluate(in Input, without clause) Evaluation {
	defer e.scratch.forget()
	j := judge{in: &in, without: without, scratch: &e.scratch}
	j.topology, j.places = e.survey(&in), &e.places
	var out Evaluation
	j.prepare(&out)
	j.judgeSources()
	j.judgeNodes(&out)
	j.contract(&out)
	j.descend()
	j.admit()
	j.report(&out)
	return out
}

// judge holds one evaluation. Nodes and sources are addressed by their numbers in
// the topology. What is read of an Input is read in the order in which it lies
// there: a large fleet does not fit into the caches of a processor, and waiting
// for memory is most of what an evaluation costs.
type judge struct {
	*topology
	in      *Input
	without clause
	scratch *scratch
	places  *places

	peers     []Wavefront
	peerIndex map[string]int32

	nodes   []node
	sources []source
	// down is what each node learns from its ancestors, and wave its longest
	// path from a root: none in or behind a cycle.
	down []descent
	wave []int32
	// members is how many nodes belong to the graph, kept how many sources the
	// judged Wavefront keeps.
	members int
	kept    int
	// releases of each node, as places in Input.Releases; nil where there are
	// none at all.
	releases [][]int32
	// applied are those that each node applied itself, if it is built from their
	// source.
	applied [][]int32
	// refusing are nodes with references that are no edges.
	refusing []int32
	// undecidedIn is how long from now time alone changes a verdict; zero if
	// it does not.
	undecidedIn time.Duration
	// group of each node; nodes that can only move together share one.
	group []int32
}

// lacks tells whether the evaluation leaves a clause out.
func (j *judge) lacks(c clause) bool { return j.without&c != 0 }
