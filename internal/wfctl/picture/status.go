// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// OfStatus returns the picture that the controller published in the status of
// the object, read at the moment taken.
func OfStatus(obj *wavefrontv1.Wavefront, taken time.Time) *Picture {
	p := &Picture{
		TypeMeta: metav1.TypeMeta{APIVersion: SnapshotAPIVersion, Kind: SnapshotKind},
		Taken:    metav1.NewTime(taken.UTC().Truncate(time.Second)), Origin: FromStatus,
		Wavefront: fleetOf(obj), Nodes: []Node{}, Sources: []Source{},
	}
	holds := map[Ref]*Hold{}
	for _, h := range obj.Status.Held {
		holds[refOf(h.Node)] = &Hold{Reason: h.Reason, Manager: h.Manager}
	}
	since := map[Ref]metav1.Time{}
	for _, b := range obj.Status.Blocked {
		since[refOf(b.Node)] = b.Since
	}
	for _, m := range obj.Status.Members {
		p.Nodes = append(p.Nodes, nodeOf(m, holds, since))
	}
	p.Cycles = cyclesIn(p.Nodes)
	p.finish()
	return p
}

// finish sorts the nodes and gathers the sources from them.
func (p *Picture) finish() {
	slices.SortFunc(p.Nodes, func(a, b Node) int { return a.Compare(b.Ref) })
	virtual := map[string]bool{}
	for _, s := range p.Wavefront.ShadowPins {
		virtual[s.Source] = true
	}
	index := map[Ref]int{}
	for _, n := range p.Nodes {
		if n.Source == nil || n.Role != string(wavefrontv1.RolePinned) {
			continue
		}
		i, ok := index[*n.Source]
		if !ok {
			i = len(p.Sources)
			index[*n.Source] = i
			p.Sources = append(p.Sources, Source{
				Ref: *n.Source, Pin: n.Pin, Observed: n.Observed, ObservationError: n.ObservationError,
				PendingSince: n.PendingSince, Virtual: virtual[n.Source.Path()],
			})
		}
		s := &p.Sources[i]
		s.Nodes = append(s.Nodes, n.Ref)
		if s.Hold == nil {
			s.Hold = n.Hold
		}
	}
	slices.SortFunc(p.Sources, func(a, b Source) int { return a.Compare(b.Ref) })
}

func fleetOf(obj *wavefrontv1.Wavefront) Fleet {
	f := Fleet{
		Name: obj.Name, Mode: obj.GetMode(), Suspend: obj.Spec.Suspend,
		ReleasePolicy: obj.GetReleasePolicy(),
		Generation:    obj.Generation, ObservedGeneration: obj.Status.ObservedGeneration,
		Deleting:     !obj.DeletionTimestamp.IsZero(),
		PollInterval: metav1.Duration{Duration: obj.Spec.Poll.GetInterval()},
		StaleAfter:   metav1.Duration{Duration: obj.Spec.Poll.GetStaleAfter()},
		Phase:        obj.Status.Phase, Counts: obj.Status.Nodes,
		CoAdmitted: obj.Status.CoAdmitted, MembersOmitted: obj.Status.MembersOmitted,
		LastEvaluated: obj.Status.LastEvaluated, Conditions: conditionsOf(obj.Status.Conditions),
	}
	if obj.Status.Shadow != nil {
		f.ShadowPins = obj.Status.Shadow.Pins
	}
	return f
}

func conditionsOf(conditions []metav1.Condition) []Condition {
	var out []Condition
	for _, c := range conditions {
		out = append(out, Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason,
			Message: escape.Text(c.Message), Since: c.LastTransitionTime,
		})
	}
	return out
}

func nodeOf(m wavefrontv1.Member, holds map[Ref]*Hold, since map[Ref]metav1.Time) Node {
	n := Node{
		Ref: refOf(m.Node), Role: string(m.Role), State: string(m.State), Wave: m.Wave,
		Pin: m.Pin, Observed: m.ObservedSHA, ObservationError: escape.Text(m.ObservationError),
		PendingSince: m.PendingSince, Ready: m.Ready, Trouble: escape.Text(m.Trouble),
	}
	for _, d := range m.DependsOn {
		n.DependsOn = append(n.DependsOn, refOf(d))
	}
	if m.Source != "" {
		n.Source = gitRepository(m.Source)
	}
	if m.Held {
		if n.Hold = holds[n.Ref]; n.Hold == nil {
			n.Hold = &Hold{Reason: Unknown}
		}
	}
	if m.Blocked != nil {
		n.Blocked = &Block{Reason: m.Blocked.Reason}
		if m.Blocked.Ancestor != nil {
			a := refOf(*m.Blocked.Ancestor)
			n.Blocked.Ancestor = &a
		}
		if t, ok := since[n.Ref]; ok {
			n.Blocked.Since = &t
		}
	}
	return n
}

func refOf(r wavefrontv1.NodeReference) Ref {
	return Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// gitRepository reads namespace/name.
func gitRepository(path string) *Ref {
	namespace, name, _ := strings.Cut(path, "/")
	return &Ref{Kind: sourcev1.GitRepositoryKind, Namespace: namespace, Name: name}
}
