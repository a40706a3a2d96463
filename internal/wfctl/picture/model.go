// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

const (
	// SnapshotAPIVersion and SnapshotKind mark a recorded picture.
	SnapshotAPIVersion = "wfctl.wavefront.as-code.io/v1"
	SnapshotKind       = "Snapshot"
)

// Unknown is shown where something was not observed.
const Unknown = "?"

// Origin says how a picture came about.
type Origin string

const (
	// FromStatus: read from the status that the controller published.
	FromStatus Origin = "Status"
	// Derived: judged anew by wfctl, through the controller's code.
	Derived Origin = "Derived"
)

// Picture is a fleet at one moment.
type Picture struct {
	metav1.TypeMeta `json:",inline"`
	// Taken is when it was read.
	Taken metav1.Time `json:"taken"`
	// Origin is Status or Derived.
	Origin Origin `json:"origin"`
	// Polled is set where wfctl listed the references itself.
	Polled bool `json:"polled,omitempty"`
	// Published is the picture of the status, where this one was derived.
	Published *Picture `json:"-"`
	// Replayed is set while it is shown from a recorded snapshot.
	Replayed bool `json:"-"`
	// Wavefront is the object that the picture is of.
	Wavefront Fleet `json:"wavefront"`
	// Nodes and Sources are sorted by their references.
	Nodes   []Node   `json:"nodes"`
	Sources []Source `json:"sources"`
	// SourcesUnread is why the GitRepositories could not be read; empty if
	// they were.
	SourcesUnread string `json:"sourcesUnread,omitempty"`
	// Cycles holds one real path for each cycle, first node repeated.
	Cycles [][]Ref `json:"cycles,omitempty"`
	// Events are recorded by snapshot only; EventsUnread is why they are not.
	Events       []Event `json:"events,omitempty"`
	EventsUnread string  `json:"eventsUnread,omitempty"`
	// Findings are lint's, recorded by snapshot only; FindingsUnread is why
	// they are not.
	Findings       []Finding `json:"findings,omitempty"`
	FindingsUnread string    `json:"findingsUnread,omitempty"`
}

// Ref names an object.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String renders the reference as Kind/namespace/name, or Kind/name for an
// object without a namespace.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// Path renders the reference as namespace/name.
func (r Ref) Path() string { return r.Namespace + "/" + r.Name }

// Compare orders references by kind, namespace and name.
func (r Ref) Compare(other Ref) int {
	if c := strings.Compare(r.Kind, other.Kind); c != 0 {
		return c
	}
	if c := strings.Compare(r.Namespace, other.Namespace); c != 0 {
		return c
	}
	return strings.Compare(r.Name, other.Name)
}

// Fleet is what the Wavefront itself says.
type Fleet struct {
	Name               string                    `json:"name"`
	Mode               wavefrontv1.Mode          `json:"mode"`
	Suspend            bool                      `json:"suspend"`
	ReleasePolicy      wavefrontv1.ReleasePolicy `json:"releasePolicy"`
	Generation         int64                     `json:"generation"`
	ObservedGeneration int64                     `json:"observedGeneration"`
	Deleting           bool                      `json:"deleting,omitempty"`
	PollInterval       metav1.Duration           `json:"pollInterval"`
	StaleAfter         metav1.Duration           `json:"staleAfter"`

	Phase          wavefrontv1.Phase       `json:"phase,omitempty"`
	Counts         *wavefrontv1.NodeCounts `json:"counts,omitempty"`
	CoAdmitted     [][]string              `json:"coAdmitted,omitempty"`
	ShadowPins     []wavefrontv1.ShadowPin `json:"shadowPins,omitempty"`
	MembersOmitted int                     `json:"membersOmitted,omitempty"`
	LastEvaluated  *metav1.Time            `json:"lastEvaluated,omitempty"`
	Conditions     []Condition             `json:"conditions,omitempty"`
}

// Condition of an object.
type Condition struct {
	Type    string      `json:"type"`
	Status  string      `json:"status"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
	Since   metav1.Time `json:"since,omitzero"`
}

// Hold says why a source is not the controller's to move.
type Hold struct {
	// Reason is HandPin, Declared, Suspend or UnsupportedRef; "?" where the
	// status list that says so was full.
	Reason  string `json:"reason"`
	Manager string `json:"manager,omitempty"`
}

// Block says what a node waits for.
type Block struct {
	Reason   string       `json:"reason"`
	Ancestor *Ref         `json:"ancestor,omitempty"`
	Since    *metav1.Time `json:"since,omitempty"`
}

// Node of the graph.
type Node struct {
	Ref       `json:",inline"`
	Role      string `json:"role"`
	State     string `json:"state"`
	Wave      int    `json:"wave"`
	DependsOn []Ref  `json:"dependsOn,omitempty"`
	// Source that the node is built from; nil for a gate without a known one.
	Source *Ref `json:"source,omitempty"`
	// Pin and Observed are commits; empty if there is none. A gate has none.
	Pin              string       `json:"pin,omitempty"`
	Observed         string       `json:"observed,omitempty"`
	ObservationError string       `json:"observationError,omitempty"`
	PendingSince     *metav1.Time `json:"pendingSince,omitempty"`
	Ready            bool         `json:"ready"`
	Hold             *Hold        `json:"hold,omitempty"`
	Blocked          *Block       `json:"blocked,omitempty"`
	Trouble          string       `json:"trouble,omitempty"`
}

// Source in scope, as the nodes built from it know it.
type Source struct {
	Ref `json:",inline"`
	// Nodes built from it.
	Nodes            []Ref        `json:"nodes"`
	Pin              string       `json:"pin,omitempty"`
	Observed         string       `json:"observed,omitempty"`
	ObservationError string       `json:"observationError,omitempty"`
	PendingSince     *metav1.Time `json:"pendingSince,omitempty"`
	Hold             *Hold        `json:"hold,omitempty"`
	// Virtual is set where the pin is a would-be pin of Shadow.
	Virtual bool `json:"virtual,omitempty"`
	// Detail is what the object itself says; nil where it could not be read.
	Detail *Detail `json:"detail,omitempty"`
}

// Pending is the commit that waits; empty if none.
func (s Source) Pending() string { return pending(s.Pin, s.Observed) }

// Pending is the commit that waits; empty if none.
func (n Node) Pending() string { return pending(n.Pin, n.Observed) }

// Missing tells whether the node does not exist: somebody depends on it, and a gate that
// exists is never pending for a reason of its own.
func (n Node) Missing() bool {
	return n.Role == string(wavefrontv1.RoleGate) && n.State == string(wavefrontv1.StatePending) && n.Blocked == nil
}

func pending(pin, observed string) string {
	if pin == "" || strings.EqualFold(pin, observed) {
		return ""
	}
	return observed
}

// Detail is what a GitRepository says of itself.
type Detail struct {
	URL string `json:"url"`
	// Tracks renders what Git asks the source to follow ("branch main").
	Tracks    string          `json:"tracks"`
	Managed   bool            `json:"managed"`
	Suspended bool            `json:"suspended,omitempty"`
	Interval  metav1.Duration `json:"interval"`
	// Commit is spec.ref.commit.
	Commit string `json:"commit,omitempty"`
	// Owners are the managers of that field.
	Owners []string `json:"owners,omitempty"`
	// Provenance, from the annotations.
	OwnedBy      string       `json:"ownedBy,omitempty"`
	Record       string       `json:"record,omitempty"`
	PreviousPin  string       `json:"previousPin,omitempty"`
	ObservedRef  string       `json:"observedRef,omitempty"`
	ObservedURL  string       `json:"observedURL,omitempty"`
	AdmittedAt   string       `json:"admittedAt,omitempty"`
	HeldBy       string       `json:"heldBy,omitempty"`
	ForcedBy     string       `json:"forcedBy,omitempty"`
	Artifact     string       `json:"artifact,omitempty"`
	ArtifactTime *metav1.Time `json:"artifactTime,omitempty"`
	Conditions   []Condition  `json:"conditions,omitempty"`
}

// Fetch sums up source-controller's conditions: Ready, Failed, or Unknown where
// they do not say.
func (d Detail) Fetch() string {
	for _, c := range d.Conditions {
		if c.Type == "FetchFailed" && c.Status == "True" {
			return "Failed"
		}
	}
	for _, c := range d.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return "Ready"
		}
		if c.Type == "Ready" && c.Status == "False" {
			return "Failed"
		}
	}
	return Unknown
}

// Event of the controller or of wfctl.
type Event struct {
	At        metav1.Time `json:"at"`
	Type      string      `json:"type"`
	Reason    string      `json:"reason"`
	Action    string      `json:"action,omitempty"`
	Reporter  string      `json:"reporter"`
	Regarding Ref         `json:"regarding"`
	Related   *Ref        `json:"related,omitempty"`
	Note      string      `json:"note"`
	Count     int32       `json:"count,omitempty"`
}

// Severity of a finding.
type Severity string

const (
	// Error: ordering is bypassed or broken.
	Error Severity = "error"
	// Warning: it works, but something will surprise.
	Warning Severity = "warning"
	// Info: a limit to know about.
	Info Severity = "info"
)

// Finding of lint.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`
	Object   Ref      `json:"object"`
	Why      string   `json:"why"`
	Fix      string   `json:"fix"`
}

// Node returns the node that ref names; nil if the picture has none.
func (p *Picture) Node(ref Ref) *Node {
	for i := range p.Nodes {
		if p.Nodes[i].Ref == ref {
			return &p.Nodes[i]
		}
	}
	return nil
}

// Dependents are the nodes that name ref in their dependsOn.
func (p *Picture) Dependents(ref Ref) []Ref {
	var out []Ref
	for _, n := range p.Nodes {
		if slices.Contains(n.DependsOn, ref) {
			out = append(out, n.Ref)
		}
	}
	return out
}

// Source returns the source namespace/name; nil if the picture has none.
func (p *Picture) Source(path string) *Source {
	for i := range p.Sources {
		if p.Sources[i].Path() == path {
			return &p.Sources[i]
		}
	}
	return nil
}
