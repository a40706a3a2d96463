// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// Input is everything that one Wavefront is judged by. Evaluate does not change
// it, and its slices may come in any order.
type Input struct {
	// Self is the Wavefront that is judged.
	Self Wavefront
	// Peers are the other Wavefronts of the cluster.
	Peers []Wavefront
	// Nodes are all known Kustomizations; Evaluate finds those that belong to
	// the graph.
	Nodes []Node
	// Sources are all known GitRepositories.
	Sources []Source
	// Releases are the HelmReleases whose chart comes from one of the sources,
	// and those that such a release depends on (these with a zero Source).
	Releases []Release
	// Now is the moment of the judgement in the life of the process; it ages
	// observations.
	Now Instant
	// Clock is the same moment as time of day; it ages what objects say of
	// themselves.
	Clock time.Time
}

// Mode says whether admission moves pins or is only announced.
type Mode string

const (
	// Enforce moves pins.
	Enforce Mode = "Enforce"
	// Shadow announces what Enforce would do and moves virtual pins only.
	Shadow Mode = "Shadow"
)

// Wavefront carries the policy of one Wavefront object.
type Wavefront struct {
	// Name of the (cluster-scoped) Wavefront.
	Name string
	// Mode of the Wavefront.
	Mode Mode
	// Suspended is spec.suspend.
	Suspended bool
	// Deleting is set once the object carries a deletion timestamp.
	Deleting bool
	// ReplicaLag is what a replicated git host may lag (spec.poll.replicaLag).
	ReplicaLag time.Duration
	// StaleAfter is the age at which an observation says nothing any more.
	StaleAfter time.Duration
}

// Status of a condition as Kubernetes writes it; empty where there is none.
type Status string

const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// Condition is the Ready condition of an object.
type Condition struct {
	Status             Status
	Reason             string
	Message            string
	ObservedGeneration int64
	// Since is the condition's last transition.
	Since time.Time
}

// Reconciliation is the newest entry of a Kustomization's status.history (Flux
// 2.7 and later).
type Reconciliation struct {
	// Succeeded is set where the entry's status is ReconciliationSucceeded.
	Succeeded bool
	// Revision is the source revision in the entry's metadata.
	Revision Revision
	// At is when it last reconciled.
	At time.Time
}

// Node is what the cluster says of one Kustomization.
type Node struct {
	ID ID
	// UID tells an object from its later namesake.
	UID string
	// SelectedBy names the Wavefronts whose selector matches the node.
	SelectedBy []string
	// Source is what the node is built from; zero for a kind that is not
	// sequenced (OCIRepository, Bucket, ExternalArtifact), and for a reference
	// that kustomize-controller would refuse.
	Source ID
	// OtherSource renders a source that is not sequenced, for reports.
	OtherSource string
	// DependsOn are the node's edges, namespaces resolved.
	DependsOn []ID
	// Refused are references across namespaces that kustomize-controller
	// would refuse under --no-cross-namespace-refs: reported, no edges.
	Refused []ID

	Generation         int64
	ObservedGeneration int64
	// Suspended is spec.suspend.
	Suspended bool
	Ready     Condition
	// Last is status.history[0]; nil before Flux 2.7.
	Last *Reconciliation
	// Remembered is the last verdict of this process about the node at its
	// present pin; nil if there is none. Used only where Last is nil.
	Remembered *Verdict
	// LastApplied and LastAttempted are the revisions of the status.
	LastApplied   Revision
	LastAttempted Revision
	// Timeout is the Kustomization's timeout (its interval where unset).
	Timeout time.Duration
	// Confirmed is set once the node's Kustomization and source (and, where it
	// has charts, those objects twice, a second apart) have been read live and
	// found settled at the pin that the source carries now. It is demanded of
	// every pinned node whose source carries a pin, real or virtual, held or
	// not; never of a gate.
	Confirmed bool
}

// Claim says whose a pin is, as internal/pin judged it from field ownership.
type Claim string

const (
	// ClaimNone: the pin is the controller's, or there is none.
	ClaimNone Claim = ""
	// ClaimHandPin: a manager other than the controller's fixed the commit, or
	// the hold annotation stands.
	ClaimHandPin Claim = "HandPin"
	// ClaimDeclared: Git renders the commit through a declarative applier.
	ClaimDeclared Claim = "Declared"
)

// Source is what the cluster and this process know of one GitRepository.
type Source struct {
	ID  ID
	UID string
	// Managed: carries the label that says "the controller may pin this".
	Managed bool
	// URL and Ref are what the source tracks now. Ref is a full reference name;
	// it is empty for a style that is not sequenced.
	URL string
	Ref string
	// RefStyle renders what Git asks for where Ref is empty ("semver: 1.x").
	RefStyle string

	Generation         int64
	ObservedGeneration int64
	// Suspended is spec.suspend.
	Suspended bool
	Ready     Condition
	// FetchFailed is set while source-controller says that it can't fetch.
	FetchFailed bool
	// Artifact is the stored revision; ArtifactAt is when it was stored.
	Artifact   Revision
	ArtifactAt time.Time
	// Timeout is the source's spec.timeout.
	Timeout time.Duration

	// Pin is spec.ref.commit.
	Pin Revision
	// PinSeen is when this process saw the pin become what it is now, or wrote
	// it; without a pin, when it first saw the source without one. For a
	// virtual pin: when it was set or first assumed. While it is zero no
	// observation counts.
	PinSeen Instant
	// VirtualPin is the would-be pin of a source without a real one, in Shadow.
	VirtualPin Revision
	// Ours is set where the controller's manager owns the pin, alone or shared.
	Ours bool
	// Claim and Manager tell whose the pin is where it is not the controller's.
	Claim   Claim
	Manager string
	// Record is the recorded pin, where it was made for the present URL and
	// ref; VoidRecord is set where there is one that was not.
	Record     Revision
	VoidRecord bool
	// Initial is set where the pin is an initial pin that never advanced;
	// PinnedAt is when it was written.
	Initial  bool
	PinnedAt time.Time
	// Reconciled: source-controller has reconciled the present generation, at
	// the pin, at least once.
	Reconciled bool
	// PinFailures counts failed pin writes in a row.
	PinFailures int
	// Owner is the owner annotation: the Wavefront that pins the source.
	Owner string

	// Observed is the latest accepted observation of URL and Ref by this
	// process; nil if there is none.
	Observed *Observation
	// ObservationError is the typed error of the latest listing, free of
	// secrets; empty if it succeeded or none was tried.
	ObservationError string
}

// Observation is one successful listing of a tracking ref, as accepted by a
// History. It is void where URL or Ref differ from the source's.
type Observation struct {
	URL    string
	Ref    string
	Commit Revision
	// Started and Completed are those of the latest listing that returned
	// Commit.
	Started   Instant
	Completed Instant
	// First is when the listing completed that first returned Commit; it
	// starts anew whenever the observed value changes. FirstAt is the same as
	// time of day.
	First   Instant
	FirstAt time.Time
}

// Release is a HelmRelease whose chart comes from a source.
type Release struct {
	ID ID
	// Source that the chart is built from.
	Source ID
	// AppliedBy is the Kustomization whose labels the release carries; zero if
	// it carries none.
	AppliedBy ID
	// DependsOn are the release's own dependencies, namespaces resolved.
	DependsOn []ID

	Suspended               bool
	Generation              int64
	ObservedGeneration      int64
	LastAttemptedGeneration int64
	LastAttemptedRevision   string
	Ready                   Condition
	// Chart is the HelmChart; nil if it does not exist.
	Chart *Chart
}

// Chart is a HelmChart that is built from a source's artifact.
type Chart struct {
	ID                 ID
	Generation         int64
	ObservedGeneration int64
	Ready              Condition
	// ObservedSource is the source revision that the chart was built from.
	ObservedSource Revision
	// Version is the revision of the chart's artifact (a chart version).
	Version string
}
