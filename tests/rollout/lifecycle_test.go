// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestDeleted: a Wavefront that is deleted lets go of its sources first: with Keep
// they stay where they are, with Float they follow their branch again.
func TestDeleted(t *testing.T) {
	t.Parallel()
	for _, policy := range []wavefrontv1.ReleasePolicy{wavefrontv1.ReleaseKeep, wavefrontv1.ReleaseFloat} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
			defer cancel()
			s := begin(ctx, t, env.Shared(t), "deleted", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
			s.enforce(ctx, g)
			s.patchSpec(ctx, g, `{"spec":{"suspend":true,"releasePolicy":"`+string(policy)+`"}}`)
			pinned, err := s.AwaitSource(ctx, "db", func(r *sourcev1.GitRepository) bool { return testfleet.PinOf(r) != "" })
			g.Expect(err).NotTo(HaveOccurred())
			// A commit that nobody admits while the Wavefront is suspended.
			commits := s.push(ctx, g, "db")
			s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool { return len(wf.Status.Blocked) == 1 })

			g.Expect(s.env.Client().Delete(ctx, s.wavefront)).To(Succeed())
			s.awaitGone(ctx, g)
			for _, name := range []string{"db", "app"} {
				source, err := s.AwaitSource(ctx, name, func(*sourcev1.GitRepository) bool { return true })
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(source.Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation))
				g.Expect(testfleet.PinOf(source) == "").To(Equal(policy == wavefrontv1.ReleaseFloat), name)
			}
			if policy == wavefrontv1.ReleaseFloat {
				g.Expect(s.AwaitApplied(ctx, "db", commits["db"])).To(Succeed())
				return
			}
			_, moved := s.timeline.First(testfleet.Applied("db", commits["db"]))
			g.Expect(moved).To(BeFalse())
			source, err := s.AwaitSource(ctx, "db", func(*sourcev1.GitRepository) bool { return true })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(testfleet.PinOf(source)).To(Equal(testfleet.PinOf(pinned)))
		})
	}
}

// awaitGone waits until the Wavefront does not exist any more.
func (s *story) awaitGone(ctx context.Context, g *WithT) {
	g.EventuallyWithOffset(1, func() bool {
		return apierrors.IsNotFound(s.env.Client().Get(ctx, s.wavefrontKey(), &wavefrontv1.Wavefront{}))
	}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
}

// TestRequested: a reconcile request on the Wavefront lists everything at once, and
// counts as handled when what was listed has been judged.
func TestRequested(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	s := begin(ctx, t, env.Shared(t), "requested", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	s.enforce(ctx, g)
	s.patchSpec(ctx, g, `{"spec":{"poll":{"interval":"1h"}}}`)
	// Until the controller goes by the long interval, a poll may be under way.
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool { return wf.Status.ObservedGeneration == wf.Generation })

	for _, request := range []string{"one", "two"} {
		commits := s.pushAtOnce(ctx, g, "app", "db")
		s.request(ctx, g, request)
		wf := s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool { return wf.Status.LastHandledReconcileAt == request })
		seen := map[string]bool{}
		for _, m := range wf.Status.Members {
			seen[m.ObservedSHA], seen[m.Pin] = true, true
		}
		g.Expect(seen).To(HaveKey(commits["db"]), "handled before it was judged")
		for source, commit := range commits {
			g.Expect(s.AwaitApplied(ctx, source, commit)).To(Succeed())
		}
		s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
		g.Expect(s.timeline.CheckOrder(commits)).To(Succeed())
	}

	// A request that was made while no controller ran is handled too.
	g.Expect(s.controller.Stop()).To(Succeed())
	commits := s.push(ctx, g, "db")
	s.request(ctx, g, "three")
	g.Expect(s.controller.Start(ctx)).To(Succeed())
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool { return wf.Status.LastHandledReconcileAt == "three" })
	g.Expect(s.AwaitApplied(ctx, "db", commits["db"])).To(Succeed())
}

func (s *story) request(ctx context.Context, g *WithT, value string) {
	s.patchSpec(ctx, g, `{"metadata":{"annotations":{"`+fluxmeta.ReconcileRequestAnnotation+`":"`+value+`"}}}`)
}

// TestOverlap: what two Wavefronts claim stands still, and so does what is behind
// it; everything else goes on, and so does that as soon as the overlap ends.
func TestOverlap(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	s := begin(ctx, t, env.Shared(t), "overlap",
		testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}}, testfleet.Node{Name: "cache"})
	s.enforce(ctx, g)

	ends := []struct {
		name string
		end  func(rival *wavefrontv1.Wavefront)
	}{
		{"suspended", func(rival *wavefrontv1.Wavefront) { s.patch(ctx, g, rival, `{"spec":{"suspend":true}}`) }},
		{"switched to Shadow", func(rival *wavefrontv1.Wavefront) { s.patch(ctx, g, rival, `{"spec":{"mode":"Shadow"}}`) }},
		{"deleted", func(*wavefrontv1.Wavefront) {}},
	}
	for _, tt := range ends {
		t.Log(tt.name)
		rival := s.rival(ctx, g, "db")
		commits := s.pushAtOnce(ctx, g, "app", "db", "cache")
		wf := s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
			contested := map[string]bool{}
			for _, b := range wf.Status.Blocked {
				contested[b.Node.Name] = b.Reason == "Contested"
			}
			return contested["db"] && contested["app"]
		})
		graph := apimeta.FindStatusCondition(wf.Status.Conditions, wavefrontv1.GraphValidCondition)
		g.Expect(graph.Reason).To(Equal(string(wavefrontv1.SelectorOverlapReason)))
		g.Expect(graph.Message).To(ContainSubstring(rival.Name))
		g.Expect(s.AwaitApplied(ctx, "cache", commits["cache"])).To(Succeed(), "it is not contested")
		for _, name := range []string{"db", "app"} {
			_, moved := s.timeline.First(testfleet.Pinned(name, commits[name]))
			g.Expect(moved).To(BeFalse(), name)
		}

		tt.end(rival)
		if tt.name == "deleted" {
			g.Expect(s.env.Client().Delete(ctx, rival)).To(Succeed())
		}
		for source, commit := range commits {
			g.Expect(s.AwaitApplied(ctx, source, commit)).To(Succeed(), source)
		}
		s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
		g.Expect(s.timeline.CheckOrder(commits)).To(Succeed())
		g.Expect(client.IgnoreNotFound(s.env.Client().Delete(ctx, rival))).To(Succeed())
		owned, err := s.AwaitSource(ctx, "db", func(*sourcev1.GitRepository) bool { return true })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(owned.Annotations).To(HaveKeyWithValue(wavefrontv1.OwnerAnnotation, s.wavefront.Name))
	}
}

// rival creates a second Wavefront in Enforce that selects one node of the fleet. It
// belongs to another shard: that is no reason not to see it.
func (s *story) rival(ctx context.Context, g *WithT, node string) *wavefrontv1.Wavefront {
	s.patchNode(ctx, g, node, `{"metadata":{"labels":{"rival":"`+s.Namespace()+`"}}}`)
	rival := s.Wavefront(wavefrontv1.ModeEnforce)
	rival.Name, rival.GenerateName = "", s.Namespace()+"-rival-"
	rival.Spec.Nodes.Selector.MatchLabels = map[string]string{"rival": s.Namespace()}
	rival.Spec.Poll = s.wavefront.Spec.Poll
	g.ExpectWithOffset(1, s.env.Client().Create(ctx, rival)).To(Succeed())
	return rival
}
