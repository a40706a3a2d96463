// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// Verdict is the judgement of a Kustomization from its object alone.
type Verdict string

const (
	// Good: reconciled, healthy.
	Good Verdict = "Good"
	// Bad: failed.
	Bad Verdict = "Bad"
	// Undecided: the object does not say, or says it of another generation or
	// revision.
	Undecided Verdict = "Unknown"
)

// Role of a node in the graph.
type Role string

const (
	// Pinned: built from a source in scope; the pin moves it.
	Pinned Role = "Pinned"
	// Gate: counts by its health and is never pinned.
	Gate Role = "Gate"
)

// State of a node. Every node has exactly one: the first of this list that
// applies.
type State string

const (
	// Pending: has a candidate and must wait, or is missing, in or behind a
	// cycle, can't be observed, or waits to be enrolled.
	Pending State = "Pending"
	// Admissible: has a candidate and may move now.
	Admissible State = "Admissible"
	// Unhealthy: a bad verdict about the present pin, a failed chart or
	// release, or a pin that can't be fetched or written.
	Unhealthy State = "Unhealthy"
	// Settled: nothing pending, converged and healthy at its own pin.
	Settled State = "Settled"
	// Converging: everything else.
	Converging State = "Converging"
)

// Reason says why a node or source can't move.
type Reason string

const (
	AncestorUnhealthy   Reason = "AncestorUnhealthy"
	AncestorPending     Reason = "AncestorPending"
	AncestorHeld        Reason = "AncestorHeld"
	AncestorUnobserved  Reason = "AncestorUnobserved"
	AncestorMissing     Reason = "AncestorMissing"
	AncestorNotEnrolled Reason = "AncestorNotEnrolled"
	SelfHeld            Reason = "SelfHeld"
	SelfUnobserved      Reason = "SelfUnobserved"
	NotEnrolled         Reason = "NotEnrolled"
	SharedSourceBlocked Reason = "SharedSourceBlocked"
	GraphCycle          Reason = "GraphCycle"
	Contested           Reason = "Contested"
	Suspended           Reason = "Suspended"
)

// HoldReason says why a source is not the controller's to move.
type HoldReason string

const (
	HandPin        HoldReason = "HandPin"
	Declared       HoldReason = "Declared"
	Suspend        HoldReason = "Suspend"
	UnsupportedRef HoldReason = "UnsupportedRef"
)

// Hold is a reason with the manager that caused it (empty for a suspension).
type Hold struct {
	Reason  HoldReason
	Manager string
}

// Blocker says why something waits, and for what.
type Blocker struct {
	Reason Reason
	// Ancestor is the nearest unsettled ancestor, the sibling that waits
	// (SharedSourceBlocked) or the contested object; zero where the reason is
	// the node's own.
	Ancestor ID
}

// Phase of the whole fleet.
type Phase string

const (
	Quiescent Phase = "Quiescent"
	Advancing Phase = "Advancing"
	Blocked   Phase = "Blocked"
)

// Evaluation is what the rules make of an Input. Its lists are sorted by ID and
// depend on nothing but the Input.
type Evaluation struct {
	Phase  Phase
	Counts Counts
	// Nodes of the graph.
	Nodes []NodeResult
	// Sources in scope.
	Sources []SourceResult
	// Cycles holds one real path for each cycle, first node repeated at its end.
	Cycles [][]ID
	// CoAdmitted lists the groups of two and more sources.
	CoAdmitted [][]ID
	// SelectorOverlaps and SourceOverlaps list what is shared with peers.
	SelectorOverlaps []Overlap
	SourceOverlaps   []Overlap
	// Unsupported are sources whose ref style is not sequenced.
	Unsupported []ID
	// Refused lists references across namespaces that are no edges.
	Refused []RefusedReference

	// Moves are what Enforce writes now (and Shadow announces), in the order
	// of the sources' IDs. Empty while the Wavefront is suspended or being
	// deleted.
	Moves []Move
	// Refresh are sources that must be listed again: a listing must have
	// started at least ReplicaLag after the given moment. They are those whose
	// own observation does not count for their present pin, URL and ref, and
	// those that somebody behind them waits for. It is a wish: back-off after
	// errors and the host's limits stand above it.
	Refresh []Refresh
	// Waiting are sources that must not be listed while Refresh is under way:
	// their own candidate would be void for ever on a busy branch. None of
	// them is in Refresh.
	Waiting []ID
	// Confirm are nodes that would be settled but for a live read (see
	// Node.Confirmed).
	Confirm []ID
	// Recheck is how long from now the Evaluation may change by the mere
	// passing of time; zero if it can't.
	Recheck time.Duration
}

// Counts of nodes; they are authoritative where lists are capped. Observed is
// every node of the graph, a missing one included as a gate; Pending includes
// what is admissible; Unhealthy counts the fact and so overlaps with the states;
// Blocked are the nodes that wait and say why.
type Counts struct {
	Observed, Pinned, Gates                       int
	Settled, Pending, Converging, Unhealthy, Held int
	Blocked                                       int
}

// Overlap names an object that a peer claims too.
type Overlap struct {
	Object ID
	Peer   string
}

// RefusedReference is a reference that kustomize-controller would refuse.
type RefusedReference struct {
	From ID
	To   ID
}

// Refresh asks for a listing of a source after a moment.
type Refresh struct {
	Source ID
	After  Instant
}

// MoveKind says what kind of move a Move is.
type MoveKind string

const (
	// Initial pins a source that never had a pin, ungated. In Shadow it asks
	// for the virtual pin to be remembered, and is no admission.
	Initial MoveKind = "Initial"
	// Restore puts a vanished pin back at its record.
	Restore MoveKind = "Restore"
	// Advance admits the candidate.
	Advance MoveKind = "Advance"
)

// Move of one source.
type Move struct {
	Kind   MoveKind
	Source ID
	// From is the present pin; empty if there is none.
	From Revision
	// To is the revision to pin.
	To Revision
	// VoidRecord is set where a record exists that can't be used any more
	// (made for another URL or ref, or overtaken while nobody watched).
	VoidRecord bool
	// Nodes are the selected nodes of the source, to be read live before the
	// write.
	Nodes []ID
}

// NodeResult is the judgement of one node. What every node has stands before what
// few have.
type NodeResult struct {
	ID    ID
	UID   string
	Role  Role
	State State
	// Source is zero for a gate without a known source.
	Source ID
	// Pin is the effective pin (a virtual one in Shadow); empty if none.
	Pin Revision
	// Observed is the counting observation's revision; empty if none counts.
	Observed  Revision
	Verdict   Verdict
	DependsOn []ID
	// Wave is the longest path from a root; -1 in or behind a cycle.
	Wave int
	// Timeout is the Kustomization's, for telling when a node is stuck.
	Timeout  time.Duration
	Selected bool
	// Missing: referenced but not there.
	Missing bool
	// Ready: good verdict, applied and attempted at the pin.
	Ready bool
	// Settled is the node's own; Full is "and all ancestors"; Gate is "all
	// ancestors outside its group".
	Settled bool
	Full    bool
	Gate    bool
	// Unhealthy with Trouble saying why, whatever the state is.
	Unhealthy bool
	// InCycle and BehindCycle tell a cycle's own nodes from those behind it.
	InCycle     bool
	BehindCycle bool

	Hold *Hold
	// Blocked says what the node waits for; nil if it waits for nothing.
	Blocked *Blocker
	// Candidate is the observed revision where it differs from the pin.
	Candidate Revision
	// PendingSince is when the candidate was first seen; zero if none.
	PendingSince     time.Time
	Trouble          string
	ObservationError string
	// Foreign names the peer whose source the node is built from, where it was
	// reached over dependsOn only; empty for the Wavefront's own and for gates
	// in nobody's scope.
	Foreign string
}

// SourceResult is the judgement of one source in scope.
type SourceResult struct {
	ID  ID
	UID string
	// Nodes built from it, selected or not.
	Nodes []ID
	// Pin is the effective pin; Real tells a real from a virtual one.
	Pin Revision
	// Rank is the largest wave of its nodes, for listing leaves before roots.
	Rank       int
	Real       bool
	Pending    bool
	Admissible bool
	AtPin      bool
	// NotEnrolled: waits for its initial pin, or for source-controller to
	// reconcile at it for the first time. EnrolmentFailed: longer than the
	// source's timeout, or no pin can be set because there is nothing to
	// fetch.
	NotEnrolled     bool
	EnrolmentFailed bool
	// FetchFailing: source-controller can't fetch the pin. AtPin tells whether
	// that matters.
	FetchFailing bool
	// Contested by a peer.
	Contested bool

	Hold    *Hold
	Blocked *Blocker
	// Candidate is the observed revision where it differs from the pin.
	Candidate Revision
	// PendingSince is when the candidate was first seen; zero if none.
	PendingSince time.Time
}
