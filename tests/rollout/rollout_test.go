// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

func (s *story) wavefrontKey() client.ObjectKey { return client.ObjectKeyFromObject(s.wavefront) }

// chain is the fleet of the story: a chain of three, a gate in it, an independent
// branch and a monorepo.
func chain() []testfleet.Node {
	return []testfleet.Node{
		{Name: "db"},
		{Name: "gate", Gate: true, DependsOn: []string{"db"}},
		{Name: "api", DependsOn: []string{"gate"}},
		{Name: "web", DependsOn: []string{"api"}},
		{Name: "cache"},
		{Name: "worker", DependsOn: []string{"cache"}},
		{Name: "infra", Source: "mono", DependsOn: []string{"db"}},
		{Name: "apps", Source: "mono", DependsOn: []string{"infra"}},
	}
}

// TestStory is the demo's story: commits pushed leaf first are admitted root
// first; a broken one blocks its subtree and nothing else; its fix drains it.
func TestStory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	s := begin(ctx, t, env.Shared(t), "story", chain()...)

	s.enforce(ctx, g)
	for _, name := range []string{"db", "api", "web", "cache", "worker", "mono"} {
		source, err := s.AwaitSource(ctx, name, func(*sourcev1.GitRepository) bool { return true })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(testfleet.PinOf(source)).To(Equal(testfleet.ArtifactOf(source)), name)
		g.Expect(source.Annotations).To(HaveKeyWithValue(wavefrontv1.OwnerAnnotation, s.wavefront.Name))
		g.Expect(source.Annotations).NotTo(HaveKey(wavefrontv1.PreviousPinAnnotation), "an initial pin replaces nothing")
	}
	gate, err := s.AwaitSource(ctx, "gate", func(*sourcev1.GitRepository) bool { return true })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testfleet.PinOf(gate)).To(BeEmpty(), "a gate is never pinned")

	// Leaf first.
	commits := s.pushAtOnce(ctx, g, "web", "apps", "worker", "api", "cache", "db")
	for source, commit := range commits {
		g.Expect(s.AwaitPinned(ctx, source, commit)).To(Succeed())
	}
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	g.Expect(s.timeline.CheckOrder(commits)).To(Succeed())

	// A broken commit in the middle.
	broken, err := s.Push(ctx, "api", testfleet.Release{Fail: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.AwaitPinned(ctx, "api", broken)).To(Succeed())
	blocked := s.push(ctx, g, "web")
	rolling := s.push(ctx, g, "worker")
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		for _, b := range wf.Status.Blocked {
			if b.Node.Name == "web" && b.Reason == "AncestorUnhealthy" && b.Ancestor != nil && b.Ancestor.Name == "api" {
				return wf.Status.Phase == wavefrontv1.PhaseBlocked
			}
		}
		return false
	})
	g.Expect(s.AwaitApplied(ctx, "worker", rolling["worker"])).To(Succeed())
	_, moved := s.timeline.First(testfleet.Pinned("web", blocked["web"]))
	g.Expect(moved).To(BeFalse(), "web moved behind a broken ancestor")

	// The fix.
	fixed := s.push(ctx, g, "api")
	g.Expect(s.AwaitApplied(ctx, "web", blocked["web"])).To(Succeed())
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	g.Expect(s.timeline.CheckOrder(map[string]string{"api": fixed["api"], "web": blocked["web"]})).To(Succeed())
	s.expectProvenance(ctx, g, "api", fixed["api"], broken)
}

// expectProvenance reads from the source where its pin comes from.
func (s *story) expectProvenance(ctx context.Context, g *WithT, source, pin, previous string) {
	object, err := s.AwaitSource(ctx, source, func(*sourcev1.GitRepository) bool { return true })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(object.Annotations).To(HaveKeyWithValue(wavefrontv1.PinnedCommitAnnotation, pin))
	g.Expect(object.Annotations).To(HaveKeyWithValue(wavefrontv1.PreviousPinAnnotation, previous))
	g.Expect(object.Annotations).To(HaveKeyWithValue(wavefrontv1.ObservedRefAnnotation, "refs/heads/main"))
	admitted, err := time.Parse(time.RFC3339, object.Annotations[wavefrontv1.AdmittedAtAnnotation])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(admitted).To(BeTemporally("~", time.Now(), 4*time.Minute))
}

// TestSuspended: nothing is written to sources while spec.suspend is set, and
// everything goes on when it is lifted.
func TestSuspended(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s := begin(ctx, t, env.Shared(t), "suspended", testfleet.Node{Name: "db"})
	s.enforce(ctx, g)

	s.patchSpec(ctx, g, `{"spec":{"suspend":true}}`)
	commits := s.push(ctx, g, "db")
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		return len(wf.Status.Blocked) == 1 && wf.Status.Blocked[0].Reason == "Suspended"
	})
	_, moved := s.timeline.First(testfleet.Pinned("db", commits["db"]))
	g.Expect(moved).To(BeFalse())
	s.patchSpec(ctx, g, `{"spec":{"suspend":false}}`)
	g.Expect(s.AwaitApplied(ctx, "db", commits["db"])).To(Succeed())
}

// TestShadow: nothing but the Wavefront is written, and what would be admitted is
// announced in order.
func TestShadow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// In Shadow the sources float: they move when source-controller polls.
	s := begin(ctx, t, env.Shared(t), "shadow",
		testfleet.Node{Name: "db", SourceInterval: 2 * time.Second},
		testfleet.Node{Name: "app", SourceInterval: 2 * time.Second, DependsOn: []string{"db"}})
	s.create(ctx, g, wavefrontv1.ModeShadow)
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)

	s.pushAtOnce(ctx, g, "app", "db")
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.Shadow != nil && len(wf.Status.Shadow.Pins) > 0 || wf.Status.Nodes.Pending > 0
	})
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	for _, e := range s.timeline.Entries() {
		g.Expect(e.Pin).To(BeEmpty(), "a source was pinned in Shadow")
		g.Expect(e.AdmittedAt).To(BeEmpty())
	}
	for _, node := range s.Nodes() {
		k, err := s.AwaitKustomization(ctx, node.Name, func(*kustomizev1.Kustomization) bool { return true })
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range k.ManagedFields {
			g.Expect(f.Manager).NotTo(HavePrefix("wavefront"), "a node was written")
		}
	}
}

func (s *story) patchSpec(ctx context.Context, g *WithT, patch string) {
	wf := &wavefrontv1.Wavefront{}
	wf.Name = s.wavefront.Name
	s.patch(ctx, g, wf, patch)
}

func (s *story) patchNode(ctx context.Context, g *WithT, name, patch string) {
	k := &kustomizev1.Kustomization{}
	k.Namespace, k.Name = s.Namespace(), name
	s.patch(ctx, g, k, patch)
}

func (s *story) patch(ctx context.Context, g *WithT, obj client.Object, patch string) {
	g.ExpectWithOffset(2, s.env.Client().Patch(ctx, obj, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}
