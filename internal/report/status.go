// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// maxText bounds what is quoted of errors and troubles, in bytes: the byte
// budget is for nodes.
const maxText = 512

// statusOf renders a pass. The same pass, memory and previous conditions give
// the same bytes; lastEvaluated is the previous one, for the caller to move.
func statusOf(wf *wavefrontv1.Wavefront, pass *Pass, m *memory, now time.Time) wavefrontv1.WavefrontStatus {
	ev := &pass.Evaluation
	graph := graphCondition(ev)
	status := wavefrontv1.WavefrontStatus{
		ObservedGeneration: wf.Generation,
		Phase:              wavefrontv1.Phase(ev.Phase),
		Nodes:              countsOf(ev.Counts),
		Blocked:            blockedNodes(ev, m),
		Held:               heldNodes(ev),
		CoAdmitted:         coAdmitted(ev),
		Shadow:             shadowOf(wf, pass.ShadowPins),
		LastEvaluated:      wf.Status.LastEvaluated,
		Conditions:         withConditions(wf, now, evaluatedReady(wf, ev, graph), graph),
	}
	handled(wf, &status)
	members := make([]wavefrontv1.Member, len(ev.Nodes))
	for i := range ev.Nodes {
		members[i] = member(&ev.Nodes[i], m)
	}
	fit(&status, members)
	return status
}

// failedStatus keeps the last picture and says that it is the last one.
func failedStatus(wf *wavefrontv1.Wavefront, f failure, now time.Time) wavefrontv1.WavefrontStatus {
	status := *wf.Status.DeepCopy()
	status.Conditions = f.conditions(wf, now)
	if !f.retry {
		status.ObservedGeneration = wf.Generation
		handled(wf, &status)
	}
	return status
}

// handled confirms the reconcile request that the pass has carried out.
func handled(wf *wavefrontv1.Wavefront, status *wavefrontv1.WavefrontStatus) {
	status.LastHandledReconcileAt = wf.Status.LastHandledReconcileAt
	if requested, ok := fluxmeta.ReconcileAnnotationValue(wf.GetAnnotations()); ok {
		status.LastHandledReconcileAt = requested
	}
}

func countsOf(c fleet.Counts) *wavefrontv1.NodeCounts {
	return &wavefrontv1.NodeCounts{
		Observed: c.Observed, Pinned: c.Pinned, Gates: c.Gates,
		Settled: c.Settled, Pending: c.Pending, Converging: c.Converging,
		Unhealthy: c.Unhealthy, Blocked: c.Blocked, Held: c.Held,
	}
}

// blockedNodes lists the nodes that wait, those that wait for help first.
func blockedNodes(ev *fleet.Evaluation, m *memory) []wavefrontv1.BlockedNode {
	var nodes []*fleet.NodeResult
	for i := range ev.Nodes {
		if ev.Nodes[i].Blocked != nil {
			nodes = append(nodes, &ev.Nodes[i])
		}
	}
	slices.SortStableFunc(nodes, func(a, b *fleet.NodeResult) int {
		return cmp.Or(
			cmp.Compare(urgency(a.Blocked.Reason), urgency(b.Blocked.Reason)),
			a.ID.Compare(b.ID),
		)
	})
	var list []wavefrontv1.BlockedNode
	for _, n := range nodes[:min(len(nodes), wavefrontv1.MaxListed)] {
		list = append(list, wavefrontv1.BlockedNode{
			Node: referenceOf(n.ID), Since: *metav1Time(m.blocked[n.ID].since),
			Reason: string(n.Blocked.Reason), Ancestor: ancestorOf(n.Blocked.Ancestor),
		})
	}
	return list
}

// urgency orders what waits: for help before what waits for its turn.
func urgency(r fleet.Reason) int {
	if lasting[r] || r == fleet.GraphCycle {
		return 0
	}
	return 1
}

func heldNodes(ev *fleet.Evaluation) []wavefrontv1.HeldNode {
	var list []wavefrontv1.HeldNode
	for i := range ev.Nodes {
		n := &ev.Nodes[i]
		if n.Hold == nil {
			continue
		}
		list = append(list, wavefrontv1.HeldNode{
			Node: referenceOf(n.ID), Source: sourceOf(n.Source),
			Manager: n.Hold.Manager, Reason: string(n.Hold.Reason),
		})
		if len(list) == wavefrontv1.MaxListed {
			break
		}
	}
	return list
}

// coAdmitted lists the groups, as far as they keep within their share of the
// budget; the condition GraphValid tells that there are some.
func coAdmitted(ev *fleet.Evaluation) [][]string {
	var groups [][]string
	size := 0
	for _, group := range ev.CoAdmitted {
		list := pathList(group)
		for _, source := range list {
			size += len(source) + len(`"",`)
		}
		if size > maxCoAdmitted {
			break
		}
		groups = append(groups, list)
	}
	return groups
}

func shadowOf(wf *wavefrontv1.Wavefront, pins map[fleet.ID]fleet.Revision) *wavefrontv1.ShadowStatus {
	if wf.GetMode() != wavefrontv1.ModeShadow || len(pins) == 0 {
		return nil
	}
	list := make([]wavefrontv1.ShadowPin, 0, len(pins))
	for source, pin := range pins {
		list = append(list, wavefrontv1.ShadowPin{Source: path(source), Commit: string(pin)})
	}
	slices.SortFunc(list, func(a, b wavefrontv1.ShadowPin) int { return cmp.Compare(a.Source, b.Source) })
	return &wavefrontv1.ShadowStatus{Pins: list}
}

// member renders one node.
func member(n *fleet.NodeResult, m *memory) wavefrontv1.Member {
	out := wavefrontv1.Member{
		Node:             referenceOf(n.ID),
		Role:             wavefrontv1.NodeRole(n.Role),
		State:            wavefrontv1.NodeState(n.State),
		Wave:             n.Wave,
		Source:           sourceOf(n.Source),
		Pin:              string(n.Pin),
		ObservedSHA:      string(n.Observed),
		ObservationError: cut(n.ObservationError, maxText),
		Ready:            n.Ready,
		Held:             n.Hold != nil,
		Trouble:          cut(n.Trouble, maxText),
	}
	if n.Missing && out.Trouble == "" {
		out.Trouble = "does not exist"
	}
	for _, d := range n.DependsOn {
		out.DependsOn = append(out.DependsOn, referenceOf(d))
	}
	if since := pendingOf(n, m); !since.IsZero() {
		out.PendingSince = metav1Time(since)
	}
	if n.Blocked != nil {
		out.Blocked = &wavefrontv1.MemberBlock{
			Reason: string(n.Blocked.Reason), Ancestor: ancestorOf(n.Blocked.Ancestor),
		}
	}
	return out
}

// pendingOf returns since when a node's candidate waits; zero if it has none.
func pendingOf(n *fleet.NodeResult, m *memory) time.Time {
	if n.Candidate == "" {
		return time.Time{}
	}
	if known, ok := m.pending[n.Source]; ok && known.candidate.Same(n.Candidate) {
		return known.since
	}
	return n.PendingSince
}

func referenceOf(id fleet.ID) wavefrontv1.NodeReference {
	return wavefrontv1.NodeReference{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func ancestorOf(id fleet.ID) *wavefrontv1.NodeReference {
	if id.IsZero() {
		return nil
	}
	ref := referenceOf(id)
	return &ref
}

func sourceOf(id fleet.ID) string {
	if id.IsZero() {
		return ""
	}
	return path(id)
}

// metav1Time returns a moment as the API writes it, in whole seconds.
func metav1Time(t time.Time) *metav1.Time {
	out := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &out
}
