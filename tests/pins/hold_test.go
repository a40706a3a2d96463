// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestHandPinOutlivesFlux: somebody holds a source at an older commit with kubectl edit,
// Flux strips every field manager of that name, and the source must not float.
func TestHandPinOutlivesFlux(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "hold", testfleet.Node{Name: "app"})
	f.withCatalog("app")
	first := testfleet.ArtifactOf(f.get("app"))
	f.enforce()
	second := f.push("app")
	f.awaitApplied("app", second)
	f.quiescent()

	timeline, err := f.Record(f.ctx, nil)
	f.ok(err)
	f.pinBy(kubectlEdit, "app", first)
	f.reapply() // at once: the strip races with the controller
	f.source("app", "the hold", held)
	f.awaitApplied("app", first)
	head := f.push("app")
	f.reapply()
	f.reapply()

	s := f.get("app")
	f.g.Expect(testfleet.PinOf(s)).To(Equal(first))
	f.g.Expect(s.Annotations[wavefrontv1.HeldByAnnotation]).To(HavePrefix(kubectlEdit + " since "))
	f.g.Expect(managersOf(t, s)).To(ContainElement(wavefrontv1.FieldManager))
	f.status(f.Namespace(), "the hold in the status", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Held == 1 && s.Nodes.Pending == 1 && len(s.Held) == 1 && s.Held[0].Reason == "HandPin" &&
			s.Held[0].Manager == kubectlEdit && s.Phase == wavefrontv1.PhaseBlocked
	})
	_, served := timeline.First(func(e testfleet.Entry) bool { return e.Kind == sourcev1.GitRepositoryKind && e.Artifact == head })
	f.g.Expect(served).To(BeFalse(), "the source never served the head")

	// Taking the value away ends the hold; the order goes on from there.
	f.pinBy(kubectlEdit, "app", "")
	f.awaitApplied("app", head)
	f.g.Expect(held(f.get("app"))).To(BeFalse())
	f.quiescent()
}

// TestHandPinRacesFlux: the same, with Flux applying at the very moment, many times.
func TestHandPinRacesFlux(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "race", testfleet.Node{Name: "app"})
	f.withCatalog("app")
	commits := []string{testfleet.ArtifactOf(f.get("app"))}
	f.enforce()
	for range 3 {
		commits = append(commits, f.push("app"))
	}
	head := commits[3]
	f.awaitApplied("app", head)
	f.quiescent()
	newest := f.push("app")
	f.awaitApplied("app", newest)
	f.pinBy(kubectlEdit, "app", head)
	f.awaitApplied("app", head)

	timeline, err := f.Record(f.ctx, nil)
	f.ok(err)
	for i := range 12 {
		commit := commits[i%3]
		f.request(&sourcev1.GitRepository{}, "catalog")
		f.pinBy(kubectlEdit, "app", commit)
		f.reapply()
		s := f.source("app", "the hold", func(s *sourcev1.GitRepository) bool { return held(s) && record(s) == commit })
		f.g.Expect(testfleet.PinOf(s)).To(Equal(commit))
	}
	timeline.Close()
	served, found := timeline.First(func(e testfleet.Entry) bool { return e.Artifact == newest })
	// Where Flux stripped the hand-pin before it was shared, source-controller may have
	// begun a fetch of the head before the pin was put back: only a policy prevents that.
	dropped, stripped := timeline.First(testfleet.Pinned("app", ""))
	f.g.Expect(found && !(stripped && dropped.Revision < served.Revision)).
		To(BeFalse(), "the source served the head: %v", served)
}

// TestDeclared: Git renders a commit. It is followed, not fought over; when Git drops
// it, it is put back at once, and the source advances from there in order.
func TestDeclared(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "declared", testfleet.Node{Name: "app"})
	f.withCatalog("app")
	first := testfleet.ArtifactOf(f.get("app"))
	f.enforce()
	head := f.push("app")
	f.awaitApplied("app", head)
	f.quiescent()

	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.Reference.Commit = first })
	f.awaitApplied("app", first)
	f.status(f.Namespace(), "Declared", func(s *wavefrontv1.WavefrontStatus) bool {
		return len(s.Held) == 1 && s.Held[0].Reason == "Declared" && s.Held[0].Manager == flux &&
			s.Phase == wavefrontv1.PhaseQuiescent
	})
	s := f.source("app", "the record to follow", func(s *sourcev1.GitRepository) bool { return record(s) == first })
	f.g.Expect(managersOf(t, s)).To(ConsistOf(flux), "nothing is shared")
	f.g.Expect(held(s)).To(BeFalse())
	for range 5 {
		f.reapply()
	}
	again := f.get("app")
	f.g.Expect(again.Generation).To(Equal(s.Generation), "no apply fight")
	f.g.Expect(again.ResourceVersion).To(Equal(s.ResourceVersion), "no apply fight")

	timeline, err := f.Record(f.ctx, nil)
	f.ok(err)
	mark, err := f.env.AuditLog().Mark()
	f.ok(err)
	newest := f.push("app")
	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.Reference.Commit = "" })
	f.awaitApplied("app", newest)
	f.checkGap(mark, "app", first)
	// Applied says nothing of the pin yet: the head may have been served in the gap.
	advanced, err := timeline.Await(f.ctx, testfleet.Pinned("app", newest))
	f.ok(err)
	dropped, found := timeline.First(testfleet.Pinned("app", ""))
	f.g.Expect(found).To(BeTrue(), "Git dropped the commit")
	putBack, found := timeline.First(func(e testfleet.Entry) bool {
		return testfleet.Pinned("app", first)(e) && e.Revision > dropped.Revision
	})
	f.g.Expect(found).To(BeTrue(), "the controller put it back")
	f.g.Expect(advanced.Revision).To(BeNumerically(">", putBack.Revision), "in order from there")
	f.g.Expect(managersOf(t, f.get("app"))).To(ConsistOf(wavefrontv1.FieldManager))
	f.quiescent()
}

// TestVanishedPin: somebody removes our pin and leaves the record.
func TestVanishedPin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "vanish", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	f.quiescent()
	pin := testfleet.PinOf(f.get("app"))
	f.Hold("db")
	f.push("db") // the order has app wait while db is on its way
	f.status(f.Namespace(), "db on its way", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Converging > 0
	})
	head := f.push("app")

	for range 5 {
		mark, err := f.env.AuditLog().Mark()
		f.ok(err)
		removed := f.pinBy("somebody", "app", "")
		f.source("app", "the pin", func(s *sourcev1.GitRepository) bool {
			return testfleet.PinOf(s) == pin && s.Generation > removed.Generation
		})
		f.checkGap(mark, "app", pin)
		f.source("app", "source-controller to follow", func(s *sourcev1.GitRepository) bool {
			return s.Status.ObservedGeneration == s.Generation && testfleet.ArtifactOf(s) == pin
		})
	}
	f.Release("db")
	f.awaitApplied("app", head)
	f.g.Eventually(func() int { return len(f.eventsOf("PinRestored", "app")) }, patience, time.Second).Should(BeNumerically(">", 0))
}
