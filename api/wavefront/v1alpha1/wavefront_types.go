// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
)

const (
	// WavefrontKind is the kind of a Wavefront.
	WavefrontKind = "Wavefront"

	// WavefrontFinalizer keeps a Wavefront until it has let go of its sources.
	WavefrontFinalizer = "wavefront.as-code.io/finalizer"

	// FieldManager owns spec.ref.commit of managed sources. The name is stored
	// in every pinned object and never changes.
	FieldManager = "wavefront-controller"

	// StatusManager owns the status and the finalizer of a Wavefront.
	StatusManager = "gotk-wavefront-controller"

	// CLIFieldManager owns what wfctl writes, under whatever name it is called.
	CLIFieldManager = "wfctl"
)

const (
	// ManagedLabel, with the value "true", selects a node (by the customary
	// selector) and allows the controller to pin a source. The controller
	// reads it and never writes it.
	ManagedLabel = "wavefront.as-code.io/managed"
)

// Annotations on a managed source, written together with the pin.
const (
	// OwnerAnnotation names the Wavefront that pins the source.
	OwnerAnnotation = "wavefront.as-code.io/wavefront"

	// PinnedCommitAnnotation records the pin, so that a pin that vanishes can
	// be put back.
	PinnedCommitAnnotation = "wavefront.as-code.io/pinned-commit"

	// PreviousPinAnnotation is the commit that the present pin replaced; absent
	// on an initial pin.
	PreviousPinAnnotation = "wavefront.as-code.io/previous-pin"

	// ObservedRefAnnotation is the full name of the reference on which the
	// pinned commit was seen.
	ObservedRefAnnotation = "wavefront.as-code.io/observed-ref"

	// ObservedURLAnnotation is the URL, free of user information, at which the
	// pinned commit was seen. A record made for another URL is void.
	ObservedURLAnnotation = "wavefront.as-code.io/observed-url"

	// AdmittedAtAnnotation is when the pin became what it is (RFC 3339, UTC).
	AdmittedAtAnnotation = "wavefront.as-code.io/admitted-at"

	// HeldByAnnotation says who pinned the source by hand and since when
	// ("kubectl-edit since 2026-01-02T15:04:05Z"). While it is set and the
	// value stands, the source is held.
	HeldByAnnotation = "wavefront.as-code.io/held-by"

	// ForcedByAnnotation says who admitted the pinned commit past the gate, by
	// `wfctl force-admit`, when and why. It goes with the next advance.
	ForcedByAnnotation = "wavefront.as-code.io/forced-by"
)

// Mode says whether the Wavefront moves pins or only announces what it would
// move.
// +kubebuilder:validation:Enum=Shadow;Enforce
type Mode string

const (
	// ModeShadow writes nothing but the Wavefront itself.
	ModeShadow Mode = "Shadow"
	// ModeEnforce pins managed sources and advances the pins.
	ModeEnforce Mode = "Enforce"
)

// ReleasePolicy says what happens to a pin that the controller lets go of.
// +kubebuilder:validation:Enum=Keep;Float
type ReleasePolicy string

const (
	// ReleaseKeep leaves the source at its pinned commit.
	ReleaseKeep ReleasePolicy = "Keep"
	// ReleaseFloat removes the commit, so that the source follows its branch.
	ReleaseFloat ReleasePolicy = "Float"
)

// NodeKind is a kind of object that can be a node of the graph.
// +kubebuilder:validation:Enum=Kustomization
type NodeKind string

// NodeKindKustomization is a Flux Kustomization.
const NodeKindKustomization NodeKind = "Kustomization"

// WavefrontSpec defines which nodes are ordered, and how.
type WavefrontSpec struct {
	// Nodes says which objects are the nodes of the graph.
	// +required
	Nodes NodeSelection `json:"nodes"`

	// Mode is Shadow or Enforce. In Shadow the controller writes nothing but
	// this object and announces what it would admit; in Enforce it pins the
	// managed sources and advances the pins in order. Defaults to Shadow.
	// +kubebuilder:default:=Shadow
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// Suspend stops every write to sources. Observation and reporting go on.
	// Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// ReleasePolicy says what happens to the pin of a source that leaves the
	// scope, or when this object is deleted. Keep leaves the source at its
	// commit; Float lets it follow its branch again. Defaults to Keep.
	// +kubebuilder:default:=Keep
	// +optional
	ReleasePolicy ReleasePolicy `json:"releasePolicy,omitempty"`

	// Poll says how the sources' references are observed.
	// +kubebuilder:default:={}
	// +optional
	Poll Poll `json:"poll,omitzero"`
}

// NodeSelection selects the nodes of the graph.
type NodeSelection struct {
	// Kinds of the nodes. This version accepts exactly [Kustomization].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:XValidation:rule="self.all(k, k == 'Kustomization')",message="kinds must be exactly [Kustomization]"
	// +listType=set
	// +required
	Kinds []NodeKind `json:"kinds"`

	// Selector matches the labels of the nodes, in all namespaces. It must not
	// be empty: an empty selector would take in every Kustomization of the
	// cluster, flux-system included.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",message="selector must not be empty: set matchLabels or matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="matchExpressions: In and NotIn need values, Exists and DoesNotExist take none, and there are no other operators"
	// +required
	Selector metav1.LabelSelector `json:"selector"`
}

// Poll says how references are observed.
// +kubebuilder:validation:XValidation:rule="!has(self.staleAfter) || duration(self.staleAfter) >= duration(has(self.interval) ? self.interval : '90s') + duration(has(self.interval) ? self.interval : '90s')",message="staleAfter must be at least two intervals"
type Poll struct {
	// Interval between two listings of a source's references, jittered. At
	// least 5s. Defaults to 90s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s')",message="interval must be at least 5s"
	// +kubebuilder:default:="90s"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// PerHostConcurrency is how many listings may be under way at once to one
	// git host, 1 to 64. Wavefronts that share a host share the smallest limit
	// among those in Enforce. Defaults to 4.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default:=4
	// +optional
	PerHostConcurrency int `json:"perHostConcurrency,omitempty"`

	// Timeout of one listing, 1s to 5m. Defaults to 30s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('5m')",message="timeout must be between 1s and 5m"
	// +kubebuilder:default:="30s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// ReplicaLag is how far the replicas of a git host may lag behind each
	// other, 0s to 1m. An observation says something about a pin only if it
	// started at least this long after the pin changed. Defaults to 2s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('1m')",message="replicaLag must be at most 1m"
	// +kubebuilder:default:="2s"
	// +optional
	ReplicaLag *metav1.Duration `json:"replicaLag,omitempty"`

	// StaleAfter is the age at which an observation no longer counts: the
	// source and what is behind it then wait. At least two intervals. Defaults
	// to the larger of 10m and three intervals.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +kubebuilder:validation:MaxLength=32
	// +optional
	StaleAfter *metav1.Duration `json:"staleAfter,omitempty"`
}

// Wavefront orders the updates of the sources of the nodes that it selects.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=wf,categories=all;fluxcd
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".spec.mode",description="Shadow or Enforce"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Quiescent, Advancing or Blocked"
// +kubebuilder:printcolumn:name="Pending",type="integer",JSONPath=".status.nodes.pending",description="Nodes with a revision that waits"
// +kubebuilder:printcolumn:name="Blocked",type="integer",JSONPath=".status.nodes.blocked",description="Nodes that can't move without help"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the last evaluation succeeded"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What the last evaluation found",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age of the object"
type Wavefront struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec WavefrontSpec `json:"spec"`

	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status WavefrontStatus `json:"status,omitempty"`
}

// WavefrontList contains a list of Wavefronts.
// +kubebuilder:object:root=true
type WavefrontList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Wavefront `json:"items"`
}

// Defaults of the spec. The API server applies the same ones; the getters serve
// objects that never passed it.
const (
	DefaultInterval           = 90 * time.Second
	DefaultPerHostConcurrency = 4
	DefaultTimeout            = 30 * time.Second
	DefaultReplicaLag         = 2 * time.Second
	// MinStaleAfter is the least that staleAfter defaults to.
	MinStaleAfter = 10 * time.Minute
)

// GetInterval returns the poll interval, or its default.
func (in Poll) GetInterval() time.Duration { return durationOr(in.Interval, DefaultInterval) }

// GetPerHostConcurrency returns the listings at once to one host, or the default.
func (in Poll) GetPerHostConcurrency() int {
	if in.PerHostConcurrency < 1 {
		return DefaultPerHostConcurrency
	}
	return in.PerHostConcurrency
}

// GetTimeout returns the timeout of one listing, or its default.
func (in Poll) GetTimeout() time.Duration { return durationOr(in.Timeout, DefaultTimeout) }

// GetReplicaLag returns the replica lag, or its default. Zero is a value.
func (in Poll) GetReplicaLag() time.Duration { return durationOr(in.ReplicaLag, DefaultReplicaLag) }

// GetStaleAfter returns the age at which an observation is stale: what is set,
// else the larger of MinStaleAfter and three intervals.
func (in Poll) GetStaleAfter() time.Duration {
	return durationOr(in.StaleAfter, max(MinStaleAfter, 3*in.GetInterval()))
}

func durationOr(d *metav1.Duration, def time.Duration) time.Duration {
	if d == nil {
		return def
	}
	return d.Duration
}

// GetMode returns the mode, or its default.
func (in *Wavefront) GetMode() Mode {
	if in.Spec.Mode == "" {
		return ModeShadow
	}
	return in.Spec.Mode
}

// GetReleasePolicy returns the release policy, or its default.
func (in *Wavefront) GetReleasePolicy() ReleasePolicy {
	if in.Spec.ReleasePolicy == "" {
		return ReleaseKeep
	}
	return in.Spec.ReleasePolicy
}

// GetConditions returns the conditions of the status.
func (in *Wavefront) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions sets the conditions of the status.
func (in *Wavefront) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// GetLastHandledReconcileRequest returns the last request that was carried out.
func (in *Wavefront) GetLastHandledReconcileRequest() string {
	return in.Status.LastHandledReconcileAt
}

var _ fluxmeta.ObjectWithConditions = &Wavefront{}
