// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestLeaderKilled: of two controllers one acts; when it is killed in the middle of
// a rollout, the other one finishes it in order.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	s := begin(ctx, t, env.Shared(t), "leader",
		testfleet.Node{Name: "db"}, testfleet.Node{Name: "api", DependsOn: []string{"db"}}, testfleet.Node{Name: "web", DependsOn: []string{"api"}})
	g.Expect(s.controller.Stop()).To(Succeed()) // this one does without a lease

	binary, err := program()
	g.Expect(err).NotTo(HaveOccurred())
	replicas := make([]*env.Controller, 2)
	for i, name := range []string{"leader-a", "leader-b"} {
		replica, err := s.env.NewController(ctx, env.ControllerOptions{Name: name, Binary: binary, Args: []string{
			"--watch-label-selector=" + testfleet.Label + "=" + s.Namespace(),
			"--enable-leader-election", "--leader-election-lease-duration=6s",
			"--leader-election-renew-deadline=4s", "--leader-election-retry-period=1s",
		}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(replica.Start(ctx)).To(Succeed())
		t.Cleanup(func() { _ = replica.Stop() })
		replicas[i] = replica
		if i == 0 {
			s.controller = replica
			s.enforce(ctx, g) // it leads
		}
	}
	lease := s.lease(ctx, g)
	commits := s.push(ctx, g, "db", "api", "web")
	g.Expect(s.AwaitPinned(ctx, "db", commits["db"])).To(Succeed())
	g.Expect(replicas[0].Kill()).To(Succeed())
	for source, commit := range commits {
		g.Expect(s.AwaitApplied(ctx, source, commit)).To(Succeed(), source)
	}
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	g.Expect(s.timeline.CheckOrder(commits)).To(Succeed())
	after := s.lease(ctx, g)
	g.Expect(after.Name).To(Equal(lease.Name))
	g.Expect(after.Spec.HolderIdentity).NotTo(HaveValue(Equal(*lease.Spec.HolderIdentity)))
	g.Expect(after.Spec.LeaseTransitions).To(HaveValue(BeEquivalentTo(1)))

	// A leader that is stopped in order gives the lease up at once.
	g.Expect(replicas[0].Start(ctx)).To(Succeed())
	g.Expect(replicas[1].Stop()).To(Succeed())
	commits = s.push(ctx, g, "db")
	g.Expect(s.AwaitApplied(ctx, "db", commits["db"])).To(Succeed())
}

// lease is the one of the shard: the only one that was made for this fleet.
func (s *story) lease(ctx context.Context, g *WithT) *coordinationv1.Lease {
	leases := &coordinationv1.LeaseList{}
	g.Expect(s.env.Client().List(ctx, leases, client.InNamespace(env.RuntimeNamespace))).To(Succeed())
	begun := s.wavefront.CreationTimestamp.Add(-time.Minute)
	var found []*coordinationv1.Lease
	for i := range leases.Items {
		if l := &leases.Items[i]; l.CreationTimestamp.After(begun) && l.Name != env.ControllerName+"-leader-election" && held(l) {
			found = append(found, l)
		}
	}
	g.ExpectWithOffset(1, found).To(HaveLen(1))
	return found[0]
}

func held(l *coordinationv1.Lease) bool {
	renewed := metav1.NewMicroTime(time.Now().Add(-time.Minute))
	return l.Spec.HolderIdentity != nil && l.Spec.RenewTime != nil && l.Spec.RenewTime.After(renewed.Time)
}
