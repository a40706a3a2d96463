// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func move(kind fleet.MoveKind, from, to string) fleet.Move {
	return fleet.Move{
		Kind: kind, From: fleet.Revision(from), To: fleet.Revision(to),
		Source: fleet.ID{Kind: fleet.KindGitRepository, Namespace: "apps", Name: "repo"},
		Nodes:  []fleet.ID{{Kind: fleet.KindKustomization, Namespace: "apps", Name: "app"}},
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := context.Background()
	w := newWorld(g)
	w.api.put(kustomization("app", false))

	r := w.Move(ctx, move(fleet.Initial, "", commitA), w.see(g).GitRepository, fleetWF)
	g.Expect(r.Err).NotTo(HaveOccurred())
	g.Expect(r.Outcome).To(Equal(Written))
	g.Expect(r.Changed()).To(BeTrue())
	s := w.read(g)
	g.Expect(s.Spec.Reference.Commit).To(Equal(commitA))
	g.Expect(s.Spec.Reference.Branch).To(Equal("main"), "the tracking reference stays Git's")
	g.Expect(s.Annotations).To(Equal(map[string]string{
		wavefrontv1.OwnerAnnotation:        fleetWF,
		wavefrontv1.PinnedCommitAnnotation: commitA,
		wavefrontv1.ObservedRefAnnotation:  testRef,
		wavefrontv1.ObservedURLAnnotation:  testURL,
		wavefrontv1.AdmittedAtAnnotation:   "2026-03-04T05:06:07Z",
	}))
	g.Expect(owners(s)).To(Equal([]string{ours}))
	g.Expect(OwnershipOf(s.ManagedFields).Annotations).To(HaveLen(5))

	w.clock.at = time.Minute
	evaluated := w.edit(g, ours, `{"metadata":{"annotations":{"`+wavefrontv1.ForcedByAnnotation+`":"x"}}}`)
	r = w.Move(ctx, move(fleet.Advance, commitA, commitB), evaluated.GitRepository, fleetWF)
	g.Expect(r.Outcome).To(Equal(Written))
	s = w.read(g)
	g.Expect(s.Spec.Reference.Commit).To(Equal(commitB))
	g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.PreviousPinAnnotation, commitA))
	g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.PinnedCommitAnnotation, commitB))
	g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.AdmittedAtAnnotation, "2026-03-04T05:07:07Z"))
	g.Expect(s.Annotations).NotTo(HaveKey(wavefrontv1.ForcedByAnnotation))
	g.Expect(w.Tracker.Seen(s.GitRepository).Since.At).To(Equal(time.Minute), "the tracker knows at once")

	r = w.Move(ctx, move(fleet.Advance, commitA, commitC), evaluated.GitRepository, fleetWF)
	g.Expect(r.Outcome).To(Equal(Stale), "what was evaluated is not what is there")
	g.Expect(r.Changed()).To(BeFalse())
	g.Expect(w.read(g).Spec.Reference.Commit).To(Equal(commitB))
}

func TestMoveRestore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorld(g)
	w.api.put(kustomization("app", true))
	w.applyAs(g, ours, nil, map[string]string{wavefrontv1.PinnedCommitAnnotation: commitA})
	s := w.applyAs(g, "wfctl", nil, map[string]string{wavefrontv1.HeldByAnnotation: HeldBy("wfctl", base)})

	r := w.Move(context.Background(), move(fleet.Initial, "", commitA), s.GitRepository, fleetWF)
	g.Expect(r.Outcome).To(Equal(Suspended), "no initial pin while a node is suspended")
	r = w.Move(context.Background(), move(fleet.Restore, "", commitA), s.GitRepository, fleetWF)
	g.Expect(r.Err).NotTo(HaveOccurred())
	g.Expect(r.Outcome).To(Equal(Written), "suspension keeps nobody from putting a pin back")
	s = w.read(g)
	g.Expect(s.Spec.Reference.Commit).To(Equal(commitA))
	g.Expect(s.Annotations).NotTo(HaveKey(wavefrontv1.HeldByAnnotation), "the hold ended, whoever wrote it")
}

func TestMoveRefused(t *testing.T) {
	t.Parallel()

	advance := move(fleet.Advance, commitA, commitB)
	tests := []struct {
		name string
		// before is what happens until the source is evaluated, after what
		// happens until it is written.
		before, after func(g *WithT, w *world)
		move          fleet.Move
		expected      Outcome
		manager       string
		writes        int
		failures      int
		err           any
	}{
		{
			name:     "a node suspended a moment ago",
			after:    func(_ *WithT, w *world) { w.api.put(kustomization("app", true)) },
			move:     advance,
			expected: Suspended,
		},
		{
			name: "the Wavefront suspended a moment ago",
			after: func(_ *WithT, w *world) {
				w.api.put(wavefront(func(wf *wavefrontv1.Wavefront) { wf.Spec.Suspend = true }))
			},
			move:     advance,
			expected: Suspended,
		},
		{
			name: "the Wavefront in Shadow since a moment ago",
			after: func(_ *WithT, w *world) {
				w.api.put(wavefront(func(wf *wavefrontv1.Wavefront) { wf.Spec.Mode = wavefrontv1.ModeShadow }))
			},
			move:     advance,
			expected: Suspended,
		},
		{
			name: "the Wavefront deleted a moment ago",
			after: func(_ *WithT, w *world) {
				w.api.put(wavefront(func(wf *wavefrontv1.Wavefront) { wf.DeletionTimestamp = &metav1.Time{Time: base} }))
			},
			move:     advance,
			expected: Suspended,
		},
		{
			name:     "the Wavefront is gone",
			after:    func(_ *WithT, w *world) { delete(w.api.objects, "*v1alpha1.Wavefront/"+fleetWF) },
			move:     advance,
			expected: Suspended,
		},
		{name: "a node that is gone suspends nothing", move: advance, expected: Written, writes: 1},
		{
			name:     "the lease is gone",
			after:    func(_ *WithT, w *world) { w.lease = errNoLease },
			move:     advance,
			expected: NotLeader, err: errNoLease,
		},
		{
			name:     "the lease runs out on the way",
			after:    func(_ *WithT, w *world) { w.expires, w.refuse = true, errNoLease },
			move:     advance,
			expected: NotLeader, writes: 1, err: errNoLease,
		},
		{name: "another pin than was evaluated", move: move(fleet.Advance, commitC, commitB), expected: Stale},
		{
			name:     "a change that the process has seen since",
			after:    func(g *WithT, w *world) { w.edit(g, edit, `{"spec":{"suspend":true}}`) },
			move:     advance,
			expected: Stale,
		},
		{
			name: "a change that the process has not seen yet",
			after: func(g *WithT, w *world) {
				g.Expect(w.api.Patch(context.Background(), aSource(0).GitRepository,
					client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`)), client.FieldOwner(edit))).To(Succeed())
			},
			move:     advance,
			expected: Stale, writes: 1,
		},
		{
			name:     "a source that is gone is not created",
			after:    func(_ *WithT, w *world) { w.api.remove("apps", "repo") },
			move:     advance,
			expected: Stale, writes: 1,
		},
		{
			name:     "a hand-pin",
			before:   func(g *WithT, w *world) { w.edit(g, edit, editCommit(quoted(commitC))) },
			move:     move(fleet.Advance, commitC, commitB),
			expected: Held, manager: edit,
		},
		{
			name:     "a pin that vanished is put back before anything else",
			before:   func(g *WithT, w *world) { w.edit(g, edit, editCommit("null")) },
			move:     move(fleet.Initial, "", commitB),
			expected: Stale,
		},
		{
			name:     "what is no commit",
			move:     move(fleet.Advance, commitA, "abc"),
			expected: Failed, failures: 1, err: &CommitError{Source: advance.Source, Revision: "abc"},
		},
		{
			name:     "forbidden",
			after:    func(_ *WithT, w *world) { w.refuse = forbidden() },
			move:     advance,
			expected: Failed, writes: 1, failures: 1, err: forbidden(),
		},
		{
			name:     "stopping is no failure of the source",
			after:    func(_ *WithT, w *world) { w.refuse = context.Canceled },
			move:     advance,
			expected: Failed, writes: 1, err: context.Canceled,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := pinned(g, commitA)
			if tt.before != nil {
				tt.before(g, w)
			}
			s := w.see(g)
			if tt.after != nil {
				tt.after(g, w)
			}
			r := w.Move(context.Background(), tt.move, s.GitRepository, fleetWF)
			g.Expect(r.Outcome).To(Equal(tt.expected))
			g.Expect(r.Changed()).To(Equal(tt.expected == Written))
			g.Expect(r.Manager).To(Equal(tt.manager))
			g.Expect(w.writes).To(Equal(tt.writes))
			g.Expect(w.Tracker.Seen(s.GitRepository).Failures).To(Equal(tt.failures))
			if tt.err != nil {
				g.Expect(r.Err).To(MatchError(tt.err))
			}
			if tt.name == "a source that is gone is not created" {
				g.Expect(w.api.objects).NotTo(HaveKey(sourcev1.GitRepositoryKind + "apps/repo"))
			}
		})
	}
}

func TestFailuresAreCountedInARow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorld(g)
	w.refuse = errors.New("busy")
	s := w.see(g)
	for i := range 3 {
		w.Move(context.Background(), move(fleet.Initial, "", commitA), s.GitRepository, fleetWF)
		g.Expect(w.Tracker.Seen(s.GitRepository).Failures).To(Equal(i + 1))
	}
	w.refuse = nil
	w.Move(context.Background(), move(fleet.Initial, "", commitA), s.GitRepository, fleetWF)
	g.Expect(w.Tracker.Seen(s.GitRepository).Failures).To(BeZero())
}
