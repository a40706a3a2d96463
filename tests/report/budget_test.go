// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/report"
	"github.com/isometry/wavefront-controller/tests/env"
)

// nobody takes events.
type nobody struct{}

func (nobody) Send(report.Event) {}

// troubled is a fleet in which nothing is well: 60-character names, five edges a
// node, every node blocked, held and unhealthy, every source with a would-be pin.
func troubled(size int) report.Pass {
	sha := fleet.Revision(strings.Repeat("a", 40))
	id := func(kind string, i int) fleet.ID {
		name := fmt.Sprintf("team-%05d-", i)
		name += strings.Repeat("x", 60-len(name))
		return fleet.ID{Kind: kind, Namespace: name, Name: name}
	}
	pass := report.Pass{ShadowPins: map[fleet.ID]fleet.Revision{}}
	ev := &pass.Evaluation
	ev.Phase = fleet.Blocked
	ev.Counts = fleet.Counts{Observed: size, Pinned: size, Pending: size, Unhealthy: size, Blocked: size, Held: size}
	var cycle []fleet.ID
	for i := range size {
		n := fleet.NodeResult{
			ID: id(fleet.KindKustomization, i), Source: id(fleet.KindGitRepository, i), Role: fleet.Pinned, State: fleet.Pending,
			Pin: sha, Observed: sha, Unhealthy: true, Trouble: strings.Repeat("failed \"<again>\" ", 100),
			Hold: &fleet.Hold{Reason: fleet.HandPin, Manager: "kubectl-edit"}, Blocked: &fleet.Blocker{Reason: fleet.GraphCycle, Ancestor: id(fleet.KindKustomization, 0)},
		}
		for e := range 5 {
			n.DependsOn = append(n.DependsOn, id(fleet.KindKustomization, (i+e)%size))
		}
		ev.Nodes = append(ev.Nodes, n)
		pass.ShadowPins[n.Source] = sha
		cycle = append(cycle, n.ID)
	}
	ev.Cycles, ev.CoAdmitted = [][]fleet.ID{cycle}, [][]fleet.ID{cycle[:50], cycle}
	return pass
}

// TestLargestStatusIsAccepted writes what a fleet of 5,000 can come to, to a real
// API server and its etcd, twice: managed fields must not grow with it.
func TestLargestStatusIsAccepted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)
	metrics, err := report.NewMetrics(prometheus.NewRegistry(), clock.RealClock{})
	g.Expect(err).NotTo(HaveOccurred())
	wf := &wavefrontv1.Wavefront{
		ObjectMeta: metav1.ObjectMeta{Name: "largest", Labels: map[string]string{"test": "largest"}},
		Spec: wavefrontv1.WavefrontSpec{Mode: wavefrontv1.ModeShadow, Nodes: wavefrontv1.NodeSelection{
			Kinds:    []wavefrontv1.NodeKind{wavefrontv1.NodeKindKustomization},
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"test": "largest"}},
		}},
	}
	g.Expect(e.Client().Create(t.Context(), wf)).To(Succeed())
	for _, size := range []int{5000, 4999} {
		// Another process each time: nothing is throttled.
		rep := report.New(nobody{}, metrics, clock.RealClock{}).Publish(t.Context(), wf, troubled(size))
		g.Expect(rep.Status).NotTo(BeNil())
		base := client.MergeFrom(wf.DeepCopy())
		wf.Status = *rep.Status
		began := time.Now()
		g.Expect(e.Client().Status().Patch(t.Context(), wf, base, client.FieldOwner(wavefrontv1.StatusManager))).To(Succeed())
		status, err := json.Marshal(&wf.Status)
		g.Expect(err).NotTo(HaveOccurred())
		whole, err := json.Marshal(wf)
		g.Expect(err).NotTo(HaveOccurred())
		t.Logf("%d nodes: status %d bytes, object %d bytes, written in %s", size, len(status), len(whole), time.Since(began))
		g.Expect(len(status)).To(BeNumerically("<", 1<<20))
		g.Expect(len(whole) - len(status)).To(BeNumerically("<", 8<<10))
		g.Expect(wf.Status.Shadow.Pins).To(HaveLen(size))
		g.Expect(wf.Status.Nodes.Observed).To(Equal(size))
		g.Expect(wf.Status.Blocked).To(HaveLen(wavefrontv1.MaxListed))
		g.Expect(wf.Status.Held).To(HaveLen(wavefrontv1.MaxListed))
		g.Expect(wf.Status.Conditions).To(HaveLen(2))
		g.Expect(wf.Status.MembersOmitted + len(wf.Status.Members)).To(Equal(size))
	}
}
