// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestEveryChangeIsToldOnce walks a fleet through admission, hold, release,
// block, unblock and a second block of the same node, and counts what reaches
// the Alerts of a stock notification-controller, and the API server.
func TestEveryChangeIsToldOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// A short interval for the node whose artifact goes to and fro within a
	// second: kustomize-controller may miss the last of such changes, and finds it
	// at its next interval only.
	s := begin(ctx, t, "told",
		testfleet.Node{Name: "db"}, testfleet.Node{Name: "web", DependsOn: []string{"db"}},
		testfleet.Node{Name: "free", Interval: 10 * time.Second})
	seen := 0

	s.enforce()
	s.told(&seen, "GitRepository/db InitialPin", "GitRepository/web InitialPin", "GitRepository/free InitialPin")

	// An admission.
	first := s.push("free", testfleet.Release{})
	s.told(&seen, "GitRepository/free PinAdvanced")

	// A hold, by hand, and its end.
	second := s.push("free", testfleet.Release{})
	s.told(&seen, "GitRepository/free PinAdvanced")
	s.handPin("free", first)
	s.told(&seen, "GitRepository/free HoldDetected", "Kustomization/free Blocked")
	s.handPin("free", "")
	s.told(&seen, "GitRepository/free HoldReleased", "GitRepository/free PinRestored",
		"GitRepository/free PinAdvanced", "Kustomization/free Unblocked")
	s.Expect(s.AwaitPinned(ctx, "free", second)).To(Succeed())

	// A block and its end, twice.
	for round := range 2 {
		s.push("db", testfleet.Release{Fail: true})
		s.told(&seen, "GitRepository/db PinAdvanced")
		s.await(func(wf *wavefrontv1.Wavefront) bool { return wf.Status.Nodes.Unhealthy == 1 })
		s.push("web", testfleet.Release{})
		s.told(&seen, "Kustomization/web Blocked")
		if round == 1 {
			s.crash()
		}
		s.push("db", testfleet.Release{})
		s.told(&seen, "GitRepository/db PinAdvanced", "GitRepository/web PinAdvanced", "Kustomization/web Unblocked")
		s.awaitQuiescent()
	}

	s.Expect(s.receiver.Duplicates()).To(BeEmpty())
	s.Expect(s.receiver.Invalid()).To(BeEmpty())
	s.Expect(s.receiver.Delivered()).To(HaveLen(seen), "nothing more came")
	for _, n := range s.receiver.Delivered() {
		s.Expect(n.Related).To(Equal("Wavefront/" + s.wavefront.Name))
		s.Expect(n.Metadata).To(HaveKey("token"))
		s.Expect(n.Metadata).To(HaveKey("revision"))
		s.Expect(n.Message).To(HavePrefix("wavefront/" + s.wavefront.Name + ": "))
	}
	s.expectAPIEvents()
}

// crash kills the controller while a node is blocked, and starts it again. The new
// process must come to the same picture, ages included, and announce nothing.
func (s *stage) crash() {
	blocked := func(wf *wavefrontv1.Wavefront) bool {
		return len(wf.Status.Blocked) == 1 && wf.Status.Blocked[0].Reason == "AncestorUnhealthy"
	}
	before := s.await(blocked)
	s.Expect(s.controller.Kill()).To(Succeed())
	s.Expect(s.controller.Start(s.ctx)).To(Succeed())
	// Two heartbeats: by then everything was observed afresh.
	at := s.nextHeartbeat(s.nextHeartbeat(time.Now()))
	after := s.await(func(wf *wavefrontv1.Wavefront) bool { return blocked(wf) && !wf.Status.LastEvaluated.Time.Before(at) })
	s.ExpectWithOffset(1, after.Status.Blocked).To(Equal(before.Status.Blocked))
	s.ExpectWithOffset(1, after.Status.Members).To(HaveLen(len(before.Status.Members)))
	for i, m := range after.Status.Members {
		s.ExpectWithOffset(1, m.PendingSince).To(Equal(before.Status.Members[i].PendingSince), m.Node.Name)
	}
}

// TestShadowIsTold: in Shadow, what Enforce would admit is announced, in order, and
// once; nothing else is.
func TestShadowIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s := begin(ctx, t, "shadow", testfleet.Node{Name: "db"}, testfleet.Node{Name: "web", DependsOn: []string{"db"}})
	seen := 0
	s.create(wavefrontv1.ModeShadow)
	s.awaitQuiescent()

	web, db := s.push("web", testfleet.Release{}), s.push("db", testfleet.Release{})
	s.told(&seen, "GitRepository/db ShadowAdmission")
	// Nothing is pinned: db gets there when Flux fetches it.
	s.reconcile("db")
	s.Expect(s.AwaitApplied(ctx, "db", db)).To(Succeed())
	s.told(&seen, "GitRepository/web ShadowAdmission")
	s.reconcile("web")
	s.Expect(s.AwaitApplied(ctx, "web", web)).To(Succeed())
	s.awaitQuiescent()
	s.nextHeartbeat(s.nextHeartbeat(time.Now()))
	s.Expect(s.receiver.Delivered()).To(HaveLen(seen), "nothing more came")
	s.expectAPIEvents()
}

// reconcile does what flux reconcile source git does.
func (s *stage) reconcile(source string) {
	object := &sourcev1.GitRepository{}
	object.Namespace, object.Name = s.Namespace(), source
	patch := `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"` + time.Now().String() + `"}}}`
	s.ExpectWithOffset(1, s.env.Client().Patch(s.ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// handPin sets spec.ref.commit as kubectl edit would; an empty commit takes it
// away.
func (s *stage) handPin(source, commit string) {
	patch := `{"spec":{"ref":{"commit":null}}}`
	if commit != "" {
		patch = `{"spec":{"ref":{"commit":"` + commit + `"}}}`
	}
	object := &sourcev1.GitRepository{}
	object.Namespace, object.Name = s.Namespace(), source
	s.ExpectWithOffset(1, s.env.Client().Patch(s.ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch)),
		client.FieldOwner("kubectl-edit"))).To(Succeed())
}

// expectAPIEvents compares the events that the API server has with what was
// delivered: the same on Flux kinds, and a copy of each source's on the
// Wavefront.
func (s *stage) expectAPIEvents() {
	var want []string
	for _, n := range append(s.receiver.Delivered(), s.receiver.Discarded()...) {
		want = append(want, n.String())
	}
	slices.Sort(want)
	s.EventuallyWithOffset(1, s.apiEvents, "30s", "200ms").Should(Equal(want))
}

// apiEvents renders the events of the API server about the fleet. Each must
// stand alone: one that was merged into a series lost its note.
func (s *stage) apiEvents() []string {
	var texts []string
	for _, namespace := range []string{s.Namespace(), "default"} {
		list := &eventsv1.EventList{}
		s.Expect(s.env.Client().List(s.ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, e := range list.Items {
			if e.ReportingController != wavefrontv1.FieldManager || (namespace == "default" && e.Regarding.Name != s.wavefront.Name) {
				continue
			}
			s.Expect(e.Series).To(BeNil(), e.Note)
			s.Expect(e.Action).NotTo(BeEmpty())
			s.Expect(e.Related).NotTo(BeNil())
			texts = append(texts, e.Regarding.Kind+"/"+e.Regarding.Name+" "+e.Reason)
		}
	}
	slices.Sort(texts)
	return texts
}
