// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/report"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// OfEvaluation returns the picture of a fresh judgement of the Wavefront, made
// from what the snapshot of the cluster holds.
func OfEvaluation(obj *wavefrontv1.Wavefront, ev *fleet.Evaluation, read *cluster.Snapshot, taken time.Time) *Picture {
	p := &Picture{
		TypeMeta: metav1.TypeMeta{APIVersion: SnapshotAPIVersion, Kind: SnapshotKind},
		Taken:    metav1.NewTime(taken.UTC().Truncate(time.Second)), Origin: Derived,
		Wavefront: fleetOf(obj), Nodes: []Node{}, Sources: []Source{},
	}
	p.Wavefront.judge(ev)
	since := map[Ref]metav1.Time{}
	for _, b := range obj.Status.Blocked {
		since[refOf(b.Node)] = b.Since
	}
	for i := range ev.Nodes {
		p.Nodes = append(p.Nodes, nodeOfResult(&ev.Nodes[i], since))
	}
	for _, c := range ev.Cycles {
		p.Cycles = append(p.Cycles, refsOf(c))
	}
	p.finish()
	p.addDetails(read.GitRepositories)
	for _, s := range ev.Sources {
		if src := p.Source(s.ID.Namespace + "/" + s.ID.Name); src != nil {
			src.Virtual = !s.Real && s.Pin != ""
		}
	}
	return p
}

// judge replaces what the status says of the fleet by what was judged. When it
// was last evaluated, and the other conditions, remain the controller's words.
func (f *Fleet) judge(ev *fleet.Evaluation) {
	c := ev.Counts
	f.Phase = wavefrontv1.Phase(ev.Phase)
	f.Counts = &wavefrontv1.NodeCounts{
		Observed: c.Observed, Pinned: c.Pinned, Gates: c.Gates, Settled: c.Settled, Pending: c.Pending,
		Converging: c.Converging, Unhealthy: c.Unhealthy, Blocked: c.Blocked, Held: c.Held,
	}
	f.CoAdmitted, f.MembersOmitted = nil, 0
	for _, group := range ev.CoAdmitted {
		var paths []string
		for _, id := range group {
			paths = append(paths, id.Namespace+"/"+id.Name)
		}
		f.CoAdmitted = append(f.CoAdmitted, paths)
	}
	graph := conditionsOf([]metav1.Condition{report.GraphCondition(ev)})[0]
	for i := range f.Conditions {
		if f.Conditions[i].Type == graph.Type {
			graph.Since = f.Conditions[i].Since
			f.Conditions[i] = graph
			return
		}
	}
	f.Conditions = append(f.Conditions, graph)
}

func nodeOfResult(r *fleet.NodeResult, since map[Ref]metav1.Time) Node {
	n := Node{
		Ref: refOfID(r.ID), Role: string(r.Role), State: string(r.State), Wave: r.Wave,
		DependsOn: refsOf(r.DependsOn), Pin: string(r.Pin), Observed: string(r.Observed),
		ObservationError: escape.Text(r.ObservationError), Ready: r.Ready, Trouble: escape.Text(r.Trouble),
	}
	if !r.Source.IsZero() {
		source := refOfID(r.Source)
		n.Source = &source
	}
	if !r.PendingSince.IsZero() {
		at := metav1.NewTime(r.PendingSince.UTC().Truncate(time.Second))
		n.PendingSince = &at
	}
	if r.Hold != nil {
		n.Hold = &Hold{Reason: string(r.Hold.Reason), Manager: r.Hold.Manager}
	}
	if r.Blocked != nil {
		n.Blocked = &Block{Reason: string(r.Blocked.Reason)}
		if !r.Blocked.Ancestor.IsZero() {
			a := refOfID(r.Blocked.Ancestor)
			n.Blocked.Ancestor = &a
		}
		if t, ok := since[n.Ref]; ok {
			n.Blocked.Since = &t
		}
	}
	return n
}

func refOfID(id fleet.ID) Ref { return Ref{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name} }

func refsOf(ids []fleet.ID) []Ref {
	var out []Ref
	for _, id := range ids {
		out = append(out, refOfID(id))
	}
	return out
}
