// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// node is what the rules know of one node. What the passes over the graph ask for
// comes first: they look at nodes in no order of their own.
type node struct {
	// source is the number of the source; none where it can't be read.
	source int32
	// rank is the place in the order of the IDs.
	rank int32

	// member: of the graph. Nothing is said of other nodes.
	member bool
	// pinned nodes are moved by a pin; all others are gates.
	pinned bool
	// own: selected by the judged Wavefront.
	own bool
	// selected by the Wavefront that keeps its source: its edges hold the
	// source.
	selected bool
	// suspended: spec.suspend.
	suspended bool

	settled     bool
	unconfirmed bool
	unhealthy   bool

	// in is nil for a missing node.
	in   *Node
	hold *Hold
	// blocker says why the node waits; nil if it waits for nothing.
	blocker *Blocker
	verdict Verdict
	// trouble says why the node is unhealthy.
	trouble string
	// ready: good verdict, applied and attempted at the pin.
	ready bool
	// charts: everything built as a chart is on the source's artifact.
	charts bool
}

// source is what the rules know of one source. What its nodes are judged by comes
// first.
type source struct {
	pin       Revision
	candidate Revision
	// seen is what the counting observation says.
	seen Revision
	hold *Hold

	observed  bool // needs an observation
	counted   bool // has one that counts
	stale     bool
	atPin     bool
	contested bool
	// troubled: the pin can't be written or fetched.
	troubled bool
	// failing: the latest listing failed.
	failing     bool
	notEnrolled bool

	in *Source
	// uid of the object.
	uid string
	// keeper is the Wavefront whose pins move it: self, a place in
	// judge.peers, or none if its nodes are gates.
	keeper int32
	// culprit is the node that blocks the source; none if none does.
	culprit int32
	blocker *Blocker
	// nodes of the graph that are built from it, in the order of their IDs;
	// there is nothing to be said of a source without any.
	nodes    []int32
	releases []int32
	// strays are the releases that none of its nodes applied.
	strays []int32

	counting *Observation
	// since is when the latest observation started, or since when one is
	// awaited.
	since Instant

	// suspended: a node that the judged Wavefront selects is.
	suspended bool
	real      bool
	unseen    bool // can't be observed: failed or stale
	// sequenced: a pin can hold it. unsequenced: managed, but none can hold what
	// it tracks.
	sequenced   bool
	unsequenced bool
	// fetchFailing: the pin can't be fetched, whether that matters or not.
	fetchFailing    bool
	enrolmentFailed bool
	cloning         bool // takes one of the slots
	// movable: a candidate that may move but for a suspended Wavefront.
	movable bool
}

// pending tells whether the source has a candidate.
func (s *source) pending() bool { return s.candidate != "" }

// admissible tells whether the candidate may move now.
func (s *source) admissible() bool { return s.pending() && s.blocker == nil }

// fresh tells whether an observation counts and is not stale.
func (s *source) fresh() bool { return s.counted && !s.stale }
