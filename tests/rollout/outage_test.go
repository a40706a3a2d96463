// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestOutage: a pass that comes to nothing says so, moves nothing, and is made up
// for by itself: when the API server was away, and when the controller was not
// allowed to read.
func TestOutage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	e := env.ForTest(t, env.Options{})
	s := begin(ctx, t, e, "outage",
		testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}}, testfleet.Node{Name: "web", DependsOn: []string{"app"}})
	s.enforce(ctx, g)
	const errs = `controller_runtime_reconcile_errors_total{controller="wavefront"}`
	g.Expect(s.metric(ctx, g, `gotk_reconcile_duration_seconds_count{kind="Wavefront",name="`+s.wavefront.Name+`",namespace=""}`)).
		To(BeNumerically(">", 0), "Flux's own metrics are recorded")

	before := s.metric(ctx, g, errs)
	g.Expect(e.APIServer().Kill()).To(Succeed())
	commits := s.push(ctx, g, "web", "app", "db")
	g.Eventually(func() float64 { return s.metric(ctx, g, errs) }).WithContext(ctx).WithTimeout(2*time.Minute).
		Should(BeNumerically(">", before), "passes should fail")
	g.Expect(s.metric(ctx, g, `wavefront_admissions_total{result="advanced",wavefront="`+s.wavefront.Name+`"}`)).To(BeZero())
	// A watch does not outlive the server's memory: record anew, from before the first move.
	pid := s.controller.PID()
	g.Expect(s.controller.Pause()).To(Succeed())
	g.Expect(e.APIServer().Start(ctx)).To(Succeed())
	timeline, err := s.Record(ctx, nil)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(timeline.Close)
	s.timeline = timeline
	g.Expect(s.controller.Resume()).To(Succeed())
	for source, commit := range commits {
		g.Expect(s.AwaitApplied(ctx, source, commit)).To(Succeed(), source)
	}
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	g.Expect(s.timeline.CheckOrder(commits)).To(Succeed())
	g.Expect(s.controller.PID()).To(Equal(pid), "the controller should have lived through it")

	// What may not be read live can't be called settled.
	restore := s.forbid(ctx, g, "kustomizations", "get")
	commits = s.push(ctx, g, "db")
	wf := s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool { return len(wf.Status.Blocked)+wf.Status.Nodes.Pending > 0 })
	g.Expect(apimeta.IsStatusConditionTrue(wf.Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue(), "that one source fails is no failure of the pass")
	g.Expect(s.controller.Kill()).To(Succeed())
	g.Expect(s.controller.Start(ctx)).To(Succeed())
	wf = s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		ready := apimeta.FindStatusCondition(wf.Status.Conditions, fluxmeta.ReadyCondition)
		return ready.Status == metav1.ConditionFalse && ready.Reason == string(wavefrontv1.EvaluationFailedReason)
	})
	g.Expect(apimeta.FindStatusCondition(wf.Status.Conditions, fluxmeta.ReadyCondition).Message).To(ContainSubstring("failed to read"))
	g.Expect(s.metric(ctx, g, `wavefront_nodes{state="Settled",wavefront="`+s.wavefront.Name+`"}`)).To(BeZero(), "gauges are withdrawn")
	restore()
	g.Expect(s.AwaitApplied(ctx, "db", commits["db"])).To(Succeed())
	wf = s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	g.Expect(apimeta.IsStatusConditionTrue(wf.Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue())
	g.Expect(s.metric(ctx, g, `wavefront_nodes{state="Settled",wavefront="`+s.wavefront.Name+`"}`)).To(BeEquivalentTo(3))
}

// forbid takes a permission from the controller, and returns what gives it back.
func (s *story) forbid(ctx context.Context, g *WithT, resource, verb string) (restore func()) {
	role := &rbacv1.ClusterRole{}
	g.Expect(s.env.Client().Get(ctx, client.ObjectKey{Name: env.ControllerName}, role)).To(Succeed())
	whole := role.DeepCopy()
	for i := range role.Rules {
		for _, name := range role.Rules[i].Resources {
			if name != resource {
				continue
			}
			var verbs []string
			for _, v := range role.Rules[i].Verbs {
				if v != verb {
					verbs = append(verbs, v)
				}
			}
			role.Rules[i].Verbs = verbs
		}
	}
	g.Expect(role.Rules).NotTo(Equal(whole.Rules), "nothing was taken away")
	g.Expect(s.env.Client().Update(ctx, role)).To(Succeed())
	return func() {
		role.Rules = whole.Rules
		g.Expect(s.env.Client().Update(ctx, role)).To(Succeed())
	}
}

// metric reads one sample of the controller; zero if there is none.
func (s *story) metric(ctx context.Context, g *WithT, sample string) float64 {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.controller.MetricsURL+"/metrics", nil)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if value, is := strings.CutPrefix(lines.Text(), sample+" "); is {
			number, err := strconv.ParseFloat(value, 64)
			g.Expect(err).NotTo(HaveOccurred())
			return number
		}
	}
	g.Expect(lines.Err()).NotTo(HaveOccurred())
	return 0
}
