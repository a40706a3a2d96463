// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

func TestRelease(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		prepare  func(g *WithT, w *world)
		policy   wavefrontv1.ReleasePolicy
		to       string
		action   Action
		outcome  Outcome
		kept     bool
		commit   string
		owners   []string
		owner    string
		recorded bool
		held     bool
	}{
		{
			name:   "Keep leaves everything but the owner",
			policy: wavefrontv1.ReleaseKeep, action: ActionKeep, outcome: Written,
			commit: commitA, owners: []string{ours}, recorded: true,
		},
		{
			name:   "Float leaves nothing",
			policy: wavefrontv1.ReleaseFloat, action: ActionFloat, outcome: Written,
		},
		{
			name: "a hand-over changes the owner alone", to: "other",
			policy: wavefrontv1.ReleaseFloat, action: ActionHandOver, outcome: Written,
			commit: commitA, owners: []string{ours}, recorded: true, owner: "other",
		},
		{
			name: "a hand-over keeps the hold", to: "other",
			prepare: func(g *WithT, w *world) { w.edit(g, edit, editCommit(quoted(commitB))); w.react(g) },
			policy:  wavefrontv1.ReleaseKeep, action: ActionHandOver, outcome: Written,
			commit: commitB, owners: []string{ours, edit}, recorded: true, owner: "other", held: true,
		},
		{
			name:    "Keep keeps the hold",
			prepare: func(g *WithT, w *world) { w.edit(g, edit, editCommit(quoted(commitB))); w.react(g) },
			policy:  wavefrontv1.ReleaseKeep, action: ActionKeep, outcome: Written,
			commit: commitB, owners: []string{ours, edit}, recorded: true, held: true,
		},
		{
			name: "Float does not end somebody's hold",
			prepare: func(g *WithT, w *world) {
				w.edit(g, edit, editCommit(quoted(commitB)))
				w.react(g)
				w.applyAs(g, flux, commit(commitB), nil)
				w.applyAs(g, flux, nil, nil)
			},
			policy: wavefrontv1.ReleaseFloat, action: ActionKeep, outcome: Written, kept: true,
			commit: commitB, owners: []string{ours, edit}, recorded: true, held: true,
		},
		{
			name:    "Float leaves what another manager owns too",
			prepare: func(g *WithT, w *world) { w.applyAs(g, flux, commit(commitA), nil) },
			policy:  wavefrontv1.ReleaseFloat, action: ActionFloat, outcome: Written, kept: true,
			commit: commitA, owners: []string{flux},
		},
		{
			name: "an owner that somebody else wrote goes as well",
			prepare: func(g *WithT, w *world) {
				w.applyAs(g, "kubectl", nil, map[string]string{wavefrontv1.OwnerAnnotation: fleetWF})
			},
			policy: wavefrontv1.ReleaseKeep, action: ActionKeep, outcome: Written,
			commit: commitA, owners: []string{ours}, recorded: true,
		},
		{
			name: "another Wavefront's source is left alone",
			prepare: func(g *WithT, w *world) {
				w.edit(g, "kubectl", `{"metadata":{"annotations":{"`+wavefrontv1.OwnerAnnotation+`":"other"}}}`)
			},
			policy: wavefrontv1.ReleaseFloat, outcome: Idle,
			commit: commitA, owners: []string{ours}, recorded: true, owner: "other",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := pinned(g, commitA)
			if tt.prepare != nil {
				tt.prepare(g, w)
			}
			r := w.Release(context.Background(), w.see(g).GitRepository, fleetWF, tt.policy, tt.to)
			g.Expect(r.Err).NotTo(HaveOccurred())
			g.Expect(r.Action).To(Equal(tt.action))
			g.Expect(r.Outcome).To(Equal(tt.outcome))
			g.Expect(r.Kept).To(Equal(tt.kept))
			s := w.read(g)
			g.Expect(s.Spec.Reference.Branch).To(Equal("main"))
			g.Expect(s.Spec.Reference.Commit).To(Equal(tt.commit))
			g.Expect(owners(s)).To(Equal(tt.owners))
			g.Expect(s.Annotations[wavefrontv1.OwnerAnnotation]).To(Equal(tt.owner))
			g.Expect(s.Annotations[wavefrontv1.PinnedCommitAnnotation] != "").To(Equal(tt.recorded))
			g.Expect(s.Annotations[wavefrontv1.HeldByAnnotation] != "").To(Equal(tt.held))
		})
	}
}

func TestReleaseOfWhatChangedOrWent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := pinned(g, commitA)
	old := w.see(g).GitRepository
	w.edit(g, edit, `{"spec":{"suspend":true}}`)
	g.Expect(w.Release(context.Background(), old, fleetWF, wavefrontv1.ReleaseKeep, "").Outcome).
		To(Equal(Written), "read again and released")

	w = pinned(g, commitA)
	old = w.see(g).GitRepository
	w.api.remove("apps", "repo")
	g.Expect(w.Release(context.Background(), old, fleetWF, wavefrontv1.ReleaseKeep, "").Outcome).To(Equal(Gone))
	w.applyAs(g, flux, nil, nil)
	g.Expect(w.Release(context.Background(), old, fleetWF, wavefrontv1.ReleaseKeep, "").Outcome).
		To(Equal(Gone), "a namesake is another object")

	w = pinned(g, commitA)
	w.lease = errNoLease
	g.Expect(w.Release(context.Background(), w.see(g).GitRepository, fleetWF, wavefrontv1.ReleaseKeep, "").Outcome).
		To(Equal(NotLeader))
	w.lease, w.refuse = nil, forbidden()
	r := w.Release(context.Background(), w.see(g).GitRepository, fleetWF, wavefrontv1.ReleaseKeep, "")
	g.Expect(r.Outcome).To(Equal(Failed))
	g.Expect(r.Err).To(MatchError(forbidden()))
}

// TestLeave: what was judged is let go of in that version only, and only while the
// Wavefront enforces.
func TestLeave(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, policy := range []wavefrontv1.ReleasePolicy{wavefrontv1.ReleaseKeep, wavefrontv1.ReleaseFloat} {
		g := NewWithT(t)
		w := pinned(g, commitA)
		judged := w.see(g).GitRepository
		w.edit(g, edit, `{"metadata":{"labels":{"team":"new"}}}`)
		g.Expect(w.Leave(ctx, judged, fleetWF, policy, "").Outcome).To(Equal(Stale), "it may be in scope again")
		g.Expect(w.read(g).Annotations).To(HaveKeyWithValue(wavefrontv1.OwnerAnnotation, fleetWF))
		g.Expect(w.read(g).Spec.Reference.Commit).To(Equal(commitA))

		for _, change := range []func(*wavefrontv1.Wavefront){
			func(wf *wavefrontv1.Wavefront) { wf.Spec.Suspend = true },
			func(wf *wavefrontv1.Wavefront) { wf.Spec.Mode = wavefrontv1.ModeShadow },
		} {
			w.api.put(wavefront(change))
			g.Expect(w.Leave(ctx, w.see(g).GitRepository, fleetWF, policy, "").Outcome).To(Equal(Suspended))
			g.Expect(w.read(g).Annotations).To(HaveKeyWithValue(wavefrontv1.OwnerAnnotation, fleetWF))
		}
		w.api.put(wavefront())
		g.Expect(w.Leave(ctx, w.see(g).GitRepository, "another", policy, "").Outcome).To(Equal(Idle))
		g.Expect(w.Leave(ctx, w.see(g).GitRepository, fleetWF, policy, "").Outcome).To(Equal(Written))
		g.Expect(w.read(g).Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation))
	}
}

// failingList is an API server whose list fails.
type failingList struct {
	*apiServer
	err error
}

func (f failingList) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return f.err
}

func TestReleaseAll(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := context.Background()
	nobody := func(*sourcev1.GitRepository) string { return "" }
	w := pinned(g, commitA)
	mine := w.read(g)
	other := aSource(99).at(commitB, ours).recorded(commitB)
	other.Name = "other"
	other.Annotations[wavefrontv1.OwnerAnnotation] = "other"
	other.SetGroupVersionKind(sourceGVK)
	w.api.put(other.GitRepository)

	results, err := w.ReleaseAll(ctx, fleetWF, wavefrontv1.ReleaseFloat, nobody)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(results).To(HaveLen(1))
	g.Expect(results[0].Source).To(Equal(sourceID(mine.GitRepository)))
	g.Expect(results[0].Outcome).To(Equal(Written))
	g.Expect(w.read(g).Spec.Reference.Commit).To(BeEmpty())
	g.Expect(Owned([]*sourcev1.GitRepository{mine.GitRepository, other.GitRepository}, fleetWF)).
		To(Equal([]*sourcev1.GitRepository{mine.GitRepository}))

	w.Live = failingList{w.api, &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "GitRepository"}}}
	results, err = w.ReleaseAll(ctx, fleetWF, wavefrontv1.ReleaseFloat, nobody)
	g.Expect(err).NotTo(HaveOccurred(), "the kind is gone, and so is every pin")
	g.Expect(results).To(BeEmpty())
	w.Live = failingList{w.api, errors.New("busy")}
	_, err = w.ReleaseAll(ctx, fleetWF, wavefrontv1.ReleaseFloat, nobody)
	g.Expect(err).To(MatchError("failed to list GitRepositories: busy"))
}
