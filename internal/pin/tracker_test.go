// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

const ours = wavefrontv1.FieldManager

func newTestTracker() (*Tracker, *testClock) {
	clock := &testClock{}
	return NewTracker(clock.now, clock.time), clock
}

func TestTrackerSince(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tracker, clock := newTestTracker()

	tracker.Observe(aSource(1).at(commitA, ours).GitRepository)
	first := tracker.Seen(aSource(1).GitRepository)
	g.Expect(first.Pin).To(Equal(fleet.Commit(commitA)))
	g.Expect(first.Since.IsZero()).To(BeFalse())

	clock.at = time.Second
	tracker.Observe(aSource(2).at(commitA, ours).GitRepository)
	g.Expect(tracker.Seen(aSource(2).GitRepository).Since).To(Equal(first.Since), "the same value")

	tracker.Observe(aSource(3).at(commitB, ours).GitRepository)
	second := tracker.Seen(aSource(3).GitRepository).Since
	g.Expect(second.After(first.Since, time.Second)).To(BeTrue(), "another value")

	tracker.Observe(aSource(4).at(commitA, ours).GitRepository)
	g.Expect(tracker.Seen(aSource(4).GitRepository).Since.After(second, 0)).To(BeTrue(), "back to an old value is a change too")
}

// TestTrackerForgetsForGood: the answer to a write may come when the object is gone, or
// replaced by its namesake.
func TestTrackerForgetsForGood(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tracker, _ := newTestTracker()
	key := types.NamespacedName{Namespace: "apps", Name: "repo"}
	g.Expect(tracker.isNewest(aSource(1).GitRepository)).To(BeFalse(), "nothing is written before it is known")
	tracker.Observe(aSource(1).GitRepository)
	g.Expect(tracker.isNewest(aSource(1).GitRepository)).To(BeTrue())
	tracker.wrote(aSource(2).at(commitA, ours).GitRepository)
	g.Expect(tracker.Lookup(key).ResourceVersion).To(Equal("2"))
	tracker.Gone(aSource(2).GitRepository)
	tracker.wrote(aSource(3).at(commitA, ours).GitRepository)
	g.Expect(tracker.Lookup(key)).To(BeNil())

	namesake := aSource(5).GitRepository
	namesake.UID = "uid-2"
	tracker.Observe(namesake)
	tracker.wrote(aSource(4).at(commitA, ours).GitRepository)
	g.Expect(tracker.Lookup(key)).To(BeIdenticalTo(namesake))
}

func TestTrackerKeepsTheNewestVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tracker, _ := newTestTracker()
	cached := aSource(9).at(commitA, ours).GitRepository
	tracker.Observe(cached)

	written := aSource(10).at(commitB, ours).GitRepository
	g.Expect(tracker.Observe(written)).To(BeTrue())
	g.Expect(tracker.Newest(cached)).To(BeIdenticalTo(written), "our own write stands until the cache has it")
	g.Expect(tracker.Observe(cached)).To(BeFalse(), "an older version decides nothing")
	g.Expect(tracker.Seen(cached).Pin).To(Equal(fleet.Commit(commitB)))

	same := aSource(10).at(commitB, ours).GitRepository
	g.Expect(tracker.Observe(same)).To(BeFalse(), "the event of our own write is nothing new")

	namesake := aSource(11).GitRepository
	namesake.UID = "uid-2"
	g.Expect(tracker.Newest(namesake)).To(BeIdenticalTo(namesake), "another object of the same name")
	tracker.Observe(namesake)
	g.Expect(tracker.Seen(namesake).Vanished).To(BeNil(), "its predecessor's pin did not vanish from it")
	tracker.Gone(written)
	g.Expect(tracker.Lookup(types.NamespacedName{Namespace: "apps", Name: "repo"})).To(BeIdenticalTo(namesake))
	tracker.Gone(namesake)
	g.Expect(tracker.Lookup(types.NamespacedName{Namespace: "apps", Name: "repo"})).To(BeNil())
}

func TestTrackerOwners(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		versions []source
		first    []string
		owned    []string
	}{
		{name: "our own", versions: []source{aSource(1).at(commitA, ours)}},
		{
			name:     "a hand-pin that Flux takes over was first seen under the hand",
			versions: []source{aSource(1).at(commitA, ours), aSource(2).at(commitB, edit), aSource(3).at(commitB, flux)},
			first:    []string{edit}, owned: []string{flux},
		},
		{
			name:     "Git declares what we had pinned already",
			versions: []source{aSource(1).at(commitA, ours), aSource(2).at(commitA, ours, flux)},
			first:    []string{flux}, owned: []string{flux},
		},
		{
			name: "a hold that was released leaves nothing behind",
			versions: []source{
				aSource(1).at(commitA, edit), aSource(2).at(commitA, ours), aSource(3).at(commitA, ours, flux),
			},
			first: []string{flux}, owned: []string{flux},
		},
		{
			name:     "Git declares the next commit",
			versions: []source{aSource(1).at(commitA, flux), aSource(2).at(commitB, flux)},
			first:    []string{flux}, owned: []string{flux},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tracker, _ := newTestTracker()
			for _, v := range tt.versions {
				tracker.Observe(v.GitRepository)
			}
			seen := tracker.Seen(tt.versions[0].GitRepository)
			g.Expect(seen.First).To(Equal(tt.first))
			g.Expect(seen.Owned).To(HaveLen(len(tt.owned)))
			for _, m := range tt.owned {
				g.Expect(seen.Owned).To(HaveKey(m))
			}
		})
	}
}

func TestTrackerVanished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tracker, clock := newTestTracker()
	tracker.Observe(aSource(1).at(commitA, ours).recorded(commitA).heldByHand().GitRepository)
	clock.at = time.Minute
	gone := aSource(2).recorded(commitA).GitRepository
	tracker.Observe(gone)

	v := tracker.Seen(gone).Vanished
	g.Expect(v).NotTo(BeNil())
	g.Expect(v.Pin).To(Equal(fleet.Commit(commitA)))
	g.Expect(v.At.At).To(Equal(time.Minute))
	g.Expect(v.Before.Ownership.Ours).To(BeTrue())
	g.Expect(v.Record).To(Equal(fleet.Commit(commitA)))
	g.Expect(v.HeldBy).To(Equal(HeldBy(edit, base)))

	tracker.Observe(aSource(3).recorded(commitA).GitRepository)
	g.Expect(tracker.Seen(gone).Vanished).To(Equal(v), "another event does not make it forgotten")
	tracker.Observe(aSource(4).at(commitB, edit).GitRepository)
	g.Expect(tracker.Seen(gone).Vanished).To(BeNil(), "a new pin does")

	tracker.Observe(aSource(5).GitRepository)
	tracker.Settle(gone)
	g.Expect(tracker.Seen(gone).Vanished).To(BeNil(), "and giving it up")
}

func TestTrackerHandler(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tracker, clock := newTestTracker()
	clock.at = time.Minute
	var notified []types.NamespacedName
	handler := tracker.Handler(func(key types.NamespacedName) { notified = append(notified, key) })

	old := aSource(1).at(commitA, flux).GitRepository
	handler.OnAdd(old, true)
	g.Expect(tracker.Seen(old).Established).To(Equal([]string{flux}), "owned since long before the process started")
	handler.OnUpdate(old, aSource(2).at(commitB, flux).GitRepository)
	g.Expect(tracker.Seen(old).Established).To(Equal([]string{flux}))
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: old})
	handler.OnAdd(old, false)
	g.Expect(tracker.Seen(old).Established).To(BeEmpty(), "seen from its beginning on")
	handler.OnDelete(old)
	g.Expect(tracker.Seen(old).Established).To(Equal([]string{flux}), "never seen, so it is as old as it says")
	handler.OnAdd("something else", false)
	handler.OnDelete("something else")
	g.Expect(notified).To(HaveLen(5))
	g.Expect(tracker.CaughtUp(nil)).To(BeTrue())
}

func TestTrackerCaughtUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tracker, _ := newTestTracker()
	list := []sourcev1.GitRepository{*aSource(2).GitRepository}
	g.Expect(tracker.CaughtUp(list)).To(BeFalse(), "never seen")
	tracker.Observe(aSource(1).GitRepository)
	g.Expect(tracker.CaughtUp(list)).To(BeFalse(), "seen in an older version")
	tracker.Observe(aSource(3).GitRepository)
	g.Expect(tracker.CaughtUp(list)).To(BeTrue())
}
