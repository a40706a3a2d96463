// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Local adds what only the running process knows.
type Local interface {
	// AnnotateNode may set Remembered and Confirmed.
	AnnotateNode(*fleet.Node)
	// AnnotateSource may set PinSeen, VirtualPin, Ours, Claim, Manager,
	// PinFailures, Observed and ObservationError. The object is the one that
	// the facts were read from.
	AnnotateSource(*fleet.Source, *sourcev1.GitRepository)
}

// SpecError says that a Wavefront can't be carried out until its spec changes.
type SpecError struct {
	// Wavefront is the name of the object.
	Wavefront string
	// Field is the path of the field that is wrong.
	Field string
	// Err says what is wrong with it.
	Err error
}

// Error names object, field and cause.
func (e *SpecError) Error() string {
	return fmt.Sprintf("invalid Wavefront %q: %s: %s", e.Wavefront, e.Field, e.Err)
}

// Unwrap returns the cause.
func (e *SpecError) Unwrap() error { return e.Err }

var errEmptySelector = errors.New("must not be empty")

// MissingError says that a Wavefront is not there (any more).
type MissingError struct {
	// Wavefront is the name of the object.
	Wavefront string
}

// Error names the object.
func (e *MissingError) Error() string { return fmt.Sprintf("no Wavefront %q", e.Wavefront) }

// Input returns what one Wavefront is judged by. Local may be nil, where nothing
// is known beside the objects. It fails with a *SpecError where the Wavefront's
// own spec can't be carried out, and with a *MissingError where it is not there;
// a peer with a wrong spec selects nothing.
func (s *Snapshot) Input(self string, now fleet.Instant, clock time.Time, local Local) (fleet.Input, error) {
	in := fleet.Input{Now: now, Clock: clock, Releases: s.releases()}
	selectors, err := s.wavefronts(&in, self)
	if err != nil {
		return fleet.Input{}, err
	}
	in.Nodes = make([]fleet.Node, len(s.Kustomizations))
	for i, k := range s.Kustomizations {
		in.Nodes[i] = Node(k, s.NoCrossNamespaceRefs)
		in.Nodes[i].SelectedBy = selectedBy(selectors, k.Labels)
		if local != nil {
			local.AnnotateNode(&in.Nodes[i])
		}
	}
	in.Sources = make([]fleet.Source, len(s.GitRepositories))
	for i, g := range s.GitRepositories {
		in.Sources[i] = Source(g)
		if local != nil {
			local.AnnotateSource(&in.Sources[i], g)
		}
	}
	return in, nil
}

// selection is the selector of one Wavefront.
type selection struct {
	wavefront string
	selector  labels.Selector
}

// wavefronts fills in the policy of all Wavefronts and returns their selectors.
func (s *Snapshot) wavefronts(in *fleet.Input, self string) ([]selection, error) {
	var selectors []selection
	for _, w := range s.Wavefronts {
		selector, err := Selector(w)
		if err != nil && w.Name == self {
			return nil, err
		}
		if err == nil {
			selectors = append(selectors, selection{w.Name, selector})
		}
		if w.Name == self {
			in.Self = Policy(w)
		} else {
			in.Peers = append(in.Peers, Policy(w))
		}
	}
	if in.Self.Name == "" {
		return nil, &MissingError{Wavefront: self}
	}
	return selectors, nil
}

// Selector returns the selector of a Wavefront's nodes, or a *SpecError. One that
// would select everything is refused here as it is by the CRD: it would take in
// flux-system itself.
func Selector(w *wavefrontv1.Wavefront) (labels.Selector, error) {
	const field = "spec.nodes.selector"
	selector, err := metav1.LabelSelectorAsSelector(&w.Spec.Nodes.Selector)
	if err != nil {
		return nil, &SpecError{Wavefront: w.Name, Field: field, Err: err}
	}
	if selector.Empty() {
		return nil, &SpecError{Wavefront: w.Name, Field: field, Err: errEmptySelector}
	}
	return selector, nil
}

// Policy returns the policy of a Wavefront with its defaults.
func Policy(w *wavefrontv1.Wavefront) fleet.Wavefront {
	return fleet.Wavefront{
		Name:       w.Name,
		Mode:       fleet.Mode(w.GetMode()),
		Suspended:  w.Spec.Suspend,
		Deleting:   !w.DeletionTimestamp.IsZero(),
		ReplicaLag: w.Spec.Poll.GetReplicaLag(),
		StaleAfter: w.Spec.Poll.GetStaleAfter(),
	}
}

func selectedBy(selectors []selection, of map[string]string) []string {
	var names []string
	for _, s := range selectors {
		if s.selector.Matches(labels.Set(of)) {
			names = append(names, s.wavefront)
		}
	}
	return names
}
