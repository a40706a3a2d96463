// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pins plays the simulator with the real judgement of pins: the Tracker
// and the Judge of internal/pin, on real objects with real managed fields. Only
// tests use it.
package pins

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/fleet/sim"
	"github.com/isometry/wavefront-controller/internal/pin"
)

const owner = "fleet"

// claimsCommit are the fields of a manager that owns spec.ref.commit.
const claimsCommit = `{"f:spec":{"f:ref":{"f:commit":{}}}}`

// real is the judgement of one life of the controller.
type real struct {
	tracker *pin.Tracker
	judge   pin.Judge
	now     func() fleet.Instant
	clock   func() time.Time
}

// New makes the judgement of one life of the controller, where the given field
// managers count as Git's.
func New(declarative []string) func(func() fleet.Instant, func() time.Time) sim.Ownership {
	return func(now func() fleet.Instant, clock func() time.Time) sim.Ownership {
		return &real{
			tracker: pin.NewTracker(now, clock), now: now, clock: clock,
			judge: pin.Judge{Declarative: declarative},
		}
	}
}

// Observe feeds the tracker as an informer does.
func (r *real) Observe(v sim.View, initial bool) {
	if initial {
		r.tracker.Handler(nil).OnAdd(object(v), true)
		return
	}
	r.tracker.Observe(object(v))
}

// Judge tells whose the pin is.
func (r *real) Judge(v sim.View) (fleet.Instant, fleet.Claim, string) {
	f := r.facts(object(v), v, true)
	judgement := r.judge.Judge(f)
	return f.Seen.Since, judgement.Claim, judgement.Manager
}

func (r *real) facts(g *sourcev1.GitRepository, v sim.View, enforced bool) pin.Facts {
	return pin.Facts{
		Object: g, Source: v.Facts, Seen: r.tracker.Seen(g), Now: r.now(),
		Policy: pin.Policy{Owner: owner, Enforce: enforced},
	}
}

// React renders what a reaction writes.
func (r *real) React(v sim.View, enforced bool) (string, sim.View) {
	g := object(v)
	f := r.facts(g, v, enforced)
	judgement := r.judge.Judge(f)
	if judgement.Reaction == pin.None && f.Seen.Vanished != nil {
		r.tracker.Settle(g)
	}
	want := v
	want.Owner = owner
	held := v.HeldBy
	if !v.Record.Same(v.Commit) {
		held = ""
	}
	switch judgement.Reaction {
	case pin.Share:
		if held == "" {
			held = pin.HeldBy(judgement.Manager, r.clock())
		}
		want.Ours, want.Record, want.HeldBy = true, v.Commit, held
	case pin.PutBack:
		want.Commit, want.Record, want.Ours, want.HeldBy = judgement.To, judgement.To, true, ""
	case pin.PutBackHeld:
		want.Commit, want.Record, want.Ours = judgement.To, judgement.To, true
		want.HeldBy = pin.HeldBy(judgement.Manager, r.clock())
	case pin.GiveUp:
		want.Ours, want.Record, want.HeldBy = false, v.Commit, ""
	case pin.Follow:
		want.Ours, want.Record, want.HeldBy = v.Ours || len(v.Foreign) == 0, v.Commit, held
	default:
		return "", v
	}
	return string(judgement.Reaction), want
}

// object renders a view as the API server would.
func object(v sim.View) *sourcev1.GitRepository {
	name := fmt.Sprintf("s%d", v.Source)
	g := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "sim", Name: name, UID: types.UID(name),
			ResourceVersion: strconv.Itoa(v.Version), Generation: v.Facts.Generation,
			Labels: map[string]string{wavefrontv1.ManagedLabel: "true"}, Annotations: annotations(v),
		},
		Spec: sourcev1.GitRepositorySpec{
			URL: v.Facts.URL, Suspend: v.Facts.Suspended,
			Reference: &sourcev1.GitRepositoryRef{Name: v.Facts.Ref, Commit: string(v.Commit)},
		},
	}
	g.Status.ObservedGeneration = v.Facts.ObservedGeneration
	g.Status.Conditions = []metav1.Condition{{
		Type: fluxmeta.ReadyCondition, Status: metav1.ConditionStatus(v.Facts.Ready.Status),
		ObservedGeneration: v.Facts.Ready.ObservedGeneration,
	}}
	if v.Ours {
		g.ManagedFields = append(g.ManagedFields, claim(wavefrontv1.FieldManager, v.ClaimedAt))
	}
	for _, m := range v.Foreign {
		g.ManagedFields = append(g.ManagedFields, claim(m, v.ClaimedAt))
	}
	return g
}

func claim(manager string, at time.Time) metav1.ManagedFieldsEntry {
	e := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: sourcev1.GroupVersion.String(),
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{}, Time: &metav1.Time{Time: at},
	}
	e.FieldsV1.SetRawString(claimsCommit)
	return e
}

func annotations(v sim.View) map[string]string {
	result := map[string]string{}
	for name, value := range map[string]string{
		wavefrontv1.PinnedCommitAnnotation: string(v.Record),
		wavefrontv1.OwnerAnnotation:        v.Owner,
		wavefrontv1.HeldByAnnotation:       v.HeldBy,
	} {
		if value != "" {
			result[name] = value
		}
	}
	return result
}
