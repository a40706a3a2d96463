// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
)

// MaxListed caps the exceptional lists of the status (blocked, held). The counts
// are authoritative.
const MaxListed = 20

// Phase sums the fleet up.
// +kubebuilder:validation:Enum=Quiescent;Advancing;Blocked
type Phase string

const (
	// PhaseQuiescent: every node is settled.
	PhaseQuiescent Phase = "Quiescent"
	// PhaseAdvancing: something is on its way and nothing needs help.
	PhaseAdvancing Phase = "Advancing"
	// PhaseBlocked: something can't move without help.
	PhaseBlocked Phase = "Blocked"
)

// NodeRole says whether the pin of a source in scope moves the node.
// +kubebuilder:validation:Enum=Pinned;Gate
type NodeRole string

const (
	// RolePinned: built from a source in scope.
	RolePinned NodeRole = "Pinned"
	// RoleGate: counts by its health and is never pinned.
	RoleGate NodeRole = "Gate"
)

// NodeState is the state of one node.
// +kubebuilder:validation:Enum=Pending;Admissible;Unhealthy;Settled;Converging
type NodeState string

const (
	// StatePending: has a revision that must wait; or is missing, in or behind
	// a cycle, unobservable, or waits to be enrolled.
	StatePending NodeState = "Pending"
	// StateAdmissible: has a revision that may be admitted now.
	StateAdmissible NodeState = "Admissible"
	// StateUnhealthy: failed at its present pin.
	StateUnhealthy NodeState = "Unhealthy"
	// StateSettled: nothing pending, converged and healthy at its pin.
	StateSettled NodeState = "Settled"
	// StateConverging: on its way to its pin, or a gate that still reconciles.
	StateConverging NodeState = "Converging"
)

// NodeReference names a node or a source.
type NodeReference struct {
	// Kind of the object.
	// +required
	Kind string `json:"kind"`
	// Namespace of the object.
	// +required
	Namespace string `json:"namespace"`
	// Name of the object.
	// +required
	Name string `json:"name"`
}

// NodeCounts counts the nodes of the graph. States overlap with roles and holds.
type NodeCounts struct {
	// Observed is how many nodes the graph has.
	Observed int `json:"observed"`
	// Pinned nodes are built from a source in scope.
	Pinned int `json:"pinned"`
	// Gates are the other nodes.
	Gates int `json:"gates"`
	// Settled nodes have nothing pending and are healthy at their pin.
	Settled int `json:"settled"`
	// Pending nodes have a revision that is not admitted yet, or can't be
	// judged (state Pending or Admissible).
	Pending int `json:"pending"`
	// Converging nodes are on their way to their pin.
	Converging int `json:"converging"`
	// Unhealthy nodes failed at their present pin, whatever their state.
	Unhealthy int `json:"unhealthy"`
	// Blocked nodes wait for something.
	Blocked int `json:"blocked"`
	// Held nodes are not the controller's to move.
	Held int `json:"held"`
}

// BlockedNode is a node that waits, and what it waits for.
type BlockedNode struct {
	// Node that waits.
	Node NodeReference `json:"node"`
	// Since when it has waited for this reason.
	Since metav1.Time `json:"since"`
	// Reason it waits for.
	Reason string `json:"reason"`
	// Ancestor that it waits for, where there is one.
	// +optional
	Ancestor *NodeReference `json:"ancestor,omitempty"`
}

// HeldNode is a node whose source is not the controller's to move.
type HeldNode struct {
	// Node that is held.
	Node NodeReference `json:"node"`
	// Source of the node, as namespace/name.
	Source string `json:"source"`
	// Manager that fixed the commit; empty for a suspension.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Reason is HandPin, Declared, Suspend or UnsupportedRef.
	Reason string `json:"reason"`
}

// ShadowStatus is what a Wavefront in Shadow remembers.
type ShadowStatus struct {
	// Pins are the would-be pins that differ from the sources' artifacts.
	// +listType=atomic
	// +optional
	Pins []ShadowPin `json:"pins,omitempty"`
}

// ShadowPin is the commit that a source would be pinned at.
type ShadowPin struct {
	// Source, as namespace/name.
	Source string `json:"source"`
	// Commit of the would-be pin.
	Commit string `json:"commit"`
}

// MemberBlock says what a member waits for.
type MemberBlock struct {
	// Reason it waits for.
	Reason string `json:"reason"`
	// Ancestor that it waits for, where there is one.
	// +optional
	Ancestor *NodeReference `json:"ancestor,omitempty"`
}

// Member is one node of the graph. It is output only.
type Member struct {
	// Node of the graph.
	Node NodeReference `json:"node"`
	// Role is Pinned or Gate.
	Role NodeRole `json:"role"`
	// State of the node.
	State NodeState `json:"state"`
	// Wave is the longest path from a root; -1 in or behind a cycle.
	Wave int `json:"wave"`
	// DependsOn are the node's edges.
	// +optional
	DependsOn []NodeReference `json:"dependsOn,omitempty"`
	// Source that the node is built from, as namespace/name.
	// +optional
	Source string `json:"source,omitempty"`
	// Pin of the source; in Shadow, where there is no real one, the would-be pin.
	// +optional
	Pin string `json:"pin,omitempty"`
	// ObservedSHA is the newest observed commit of the tracking reference;
	// empty while it has not been observed since the pin changed.
	// +optional
	ObservedSHA string `json:"observedSHA,omitempty"`
	// ObservationError is why the last listing failed.
	// +optional
	ObservationError string `json:"observationError,omitempty"`
	// PendingSince is when the revision that waits was first seen.
	// +optional
	PendingSince *metav1.Time `json:"pendingSince,omitempty"`
	// Ready says that the node was applied at the pin and is healthy.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// Held says that the node's source is not the controller's to move.
	// +optional
	Held bool `json:"held,omitempty"`
	// Trouble says what is wrong with the node, if something is.
	// +optional
	Trouble string `json:"trouble,omitempty"`
	// Blocked says what the node waits for.
	// +optional
	Blocked *MemberBlock `json:"blocked,omitempty"`
}

// WavefrontStatus is the observed state of a Wavefront.
type WavefrontStatus struct {
	// ObservedGeneration is the last generation that was evaluated.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase is Quiescent, Advancing or Blocked.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// Nodes counts the nodes of the graph.
	// +optional
	Nodes *NodeCounts `json:"nodes,omitempty"`

	// Blocked lists nodes that wait, at most 20; nodes.blocked is authoritative.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Blocked []BlockedNode `json:"blocked,omitempty"`

	// Held lists nodes whose source is not the controller's to move, at most
	// 20; nodes.held is authoritative.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Held []HeldNode `json:"held,omitempty"`

	// CoAdmitted lists groups of sources, as namespace/name, that can only move
	// together: order inside a group is not guaranteed.
	// +listType=atomic
	// +optional
	CoAdmitted [][]string `json:"coAdmitted,omitempty"`

	// Shadow is what a Wavefront in Shadow remembers.
	// +optional
	Shadow *ShadowStatus `json:"shadow,omitempty"`

	// Members lists the nodes of the graph, sorted. It is cut to a byte budget:
	// settled nodes are left out first.
	// +listType=atomic
	// +optional
	Members []Member `json:"members,omitempty"`

	// MembersOmitted counts the nodes that were left out of members.
	// +optional
	MembersOmitted int `json:"membersOmitted,omitempty"`

	// LastEvaluated moves once per poll interval while the controller is alive.
	// +optional
	LastEvaluated *metav1.Time `json:"lastEvaluated,omitempty"`

	// Conditions of the Wavefront: Ready, GraphValid, and Reconciling or
	// Stalled while they are true.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	fluxmeta.ReconcileRequestStatus `json:",inline"`
}
