// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// floating is a source without a pin whose artifact is at that commit.
func floating(commit string) fleet.Source {
	return fleet.Source{
		ID: move("", "", "").Source, UID: "uid-1", Managed: true, URL: testURL, Ref: testRef,
		Generation: 1, ObservedGeneration: 1, Ready: fleet.Condition{Status: fleet.True},
		Artifact: fleet.Revision(commit),
	}
}

func TestVirtualPins(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := &testClock{}
	v := NewVirtual(clock.now)

	notReady := floating(commitA)
	notReady.ObservedGeneration = 0
	v.Annotate(fleetWF, &notReady)
	g.Expect(notReady.VirtualPin).To(BeEmpty(), "an artifact that may be of an older reference")

	s := floating(commitA)
	v.Annotate(fleetWF, &s)
	g.Expect(s.VirtualPin).To(Equal(fleet.Revision(commitA)), "assumed at the artifact")
	assumed := s.PinSeen
	g.Expect(assumed.IsZero()).To(BeFalse())
	g.Expect(v.Pins(fleetWF, []fleet.Source{s})).To(BeEmpty(), "where it is the artifact it is not kept")

	s = floating(commitB)
	v.Annotate(fleetWF, &s)
	g.Expect(s.VirtualPin).To(Equal(fleet.Revision(commitA)), "the source floats on, the virtual pin does not")
	g.Expect(s.PinSeen).To(Equal(assumed))
	g.Expect(v.Pins(fleetWF, []fleet.Source{s})).To(Equal([]wavefrontv1.ShadowPin{{Source: "apps/repo", Commit: commitA}}))

	clock.at = time.Second
	g.Expect(v.Move(fleetWF, move(fleet.Advance, commitA, commitB))).To(BeTrue())
	g.Expect(v.Move(fleetWF, move(fleet.Advance, commitA, commitB))).To(BeFalse(), "announced once")
	g.Expect(v.Move("other", move(fleet.Advance, commitA, commitB))).To(BeFalse())
	s = floating(commitB)
	v.Annotate(fleetWF, &s)
	g.Expect(s.VirtualPin).To(Equal(fleet.Revision(commitB)))
	g.Expect(s.PinSeen.After(assumed, time.Second)).To(BeTrue())

	v.Drop(fleetWF)
	s = floating(commitC)
	v.Annotate(fleetWF, &s)
	g.Expect(s.VirtualPin).To(Equal(fleet.Revision(commitC)))
}

func TestVirtualPinOfANewSource(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := NewVirtual((&testClock{}).now)
	s := floating("")
	v.Annotate(fleetWF, &s)
	g.Expect(s.VirtualPin).To(BeEmpty())
	g.Expect(v.Move(fleetWF, move(fleet.Initial, "", commitA))).To(BeTrue(), "at its first observed commit")
	v.Annotate(fleetWF, &s)
	g.Expect(s.VirtualPin).To(Equal(fleet.Revision(commitA)))
	g.Expect(v.Pins(fleetWF, nil)).To(BeEmpty())
	s = floating(commitB)
	v.Annotate(fleetWF, &s)
	g.Expect(s.VirtualPin).To(Equal(fleet.Revision(commitB)), "what left the scope is forgotten")
}

func TestVirtualPinsOfTheStatus(t *testing.T) {
	t.Parallel()

	seed := []wavefrontv1.ShadowPin{{Source: "apps/repo", Commit: commitA}, {Source: "apps/bad", Commit: "x"}}
	tests := []struct {
		name     string
		change   func(*fleet.Source)
		expected string
	}{
		{name: "read back", change: func(*fleet.Source) {}, expected: commitA},
		{name: "another object of the same name is not known yet", change: func(s *fleet.Source) { s.UID = "uid-2" }, expected: commitA},
		{name: "a real pin takes its place", change: func(s *fleet.Source) { s.Pin = fleet.Revision(commitC) }},
		{name: "not managed", change: func(s *fleet.Source) { s.Managed = false }},
		{name: "not sequenced", change: func(s *fleet.Source) { s.Ref = "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := NewVirtual((&testClock{}).now)
			v.Seed(fleetWF, seed)
			v.Seed(fleetWF, nil)
			s := floating(commitB)
			tt.change(&s)
			v.Annotate(fleetWF, &s)
			g.Expect(s.VirtualPin).To(Equal(fleet.Revision(tt.expected)))
		})
	}

	for name, change := range map[string]func(*fleet.Source){
		"another branch": func(s *fleet.Source) { s.Ref = "refs/heads/next" },
		"another URL":    func(s *fleet.Source) { s.URL = "https://git.example.com/other" },
		"another object": func(s *fleet.Source) { s.UID = "uid-2" },
	} {
		t.Run(name+" voids it", func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := NewVirtual((&testClock{}).now)
			v.Seed(fleetWF, seed)
			s := floating(commitB)
			v.Annotate(fleetWF, &s)
			s = floating(commitB)
			change(&s)
			v.Annotate(fleetWF, &s)
			g.Expect(s.VirtualPin).To(Equal(fleet.Revision(commitB)))
		})
	}
}
