// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/yaml"

	dto "github.com/prometheus/client_model/go"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
	"github.com/isometry/wavefront-controller/tests/notify"
)

// pollInterval is the shortest that the API takes.
const pollInterval = 5 * time.Second

func TestMain(m *testing.M) { os.Exit(env.Main(m, env.Options{Audit: true})) }

// stage is a fleet with a Wavefront, a running controller, and somebody to be
// told.
type stage struct {
	*testfleet.Fleet
	*WithT
	ctx        context.Context
	env        *env.Env
	controller *env.Controller
	receiver   *notify.Receiver
	wavefront  *wavefrontv1.Wavefront
	// wavefrontName names the Wavefront; the fleet's namespace where it is empty.
	wavefrontName string
	// interval between two listings of a source.
	interval time.Duration
}

// begin makes a ready fleet and runs a controller that sees it alone.
func begin(ctx context.Context, t *testing.T, prefix string, nodes ...testfleet.Node) *stage {
	t.Helper()
	return beginIn(ctx, t, env.Shared(t).Namespace(t, prefix), env.ControllerOptions{}, nodes...)
}

// beginIn does so in a namespace of that name, with more options for the controller.
func beginIn(ctx context.Context, t *testing.T, namespace string, options env.ControllerOptions, nodes ...testfleet.Node) *stage {
	t.Helper()
	s := prepare(ctx, t, namespace, options)
	s.populate(nodes...)
	return s
}

// prepare runs a controller that sees a fleet which has no nodes yet.
func prepare(ctx context.Context, t *testing.T, namespace string, options env.ControllerOptions) *stage {
	t.Helper()
	e := env.Shared(t)
	s := &stage{WithT: NewWithT(t), ctx: ctx, env: e, receiver: notify.New(), interval: pollInterval}
	t.Cleanup(s.receiver.Close)
	fleet, err := testfleet.New(ctx, e, namespace)
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(fleet.Close)
	s.Fleet = fleet
	options.Name = fleet.Namespace()
	options.Args = append([]string{
		"--watch-label-selector=" + testfleet.Label + "=" + fleet.Namespace(),
		"--events-addr=" + s.receiver.URL(),
	}, options.Args...)
	s.controller, err = e.NewController(ctx, options)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(s.controller.Start(ctx)).To(Succeed())
	t.Cleanup(func() { _ = s.controller.Stop() })
	t.Cleanup(func() {
		if t.Failed() {
			s.dump(t)
		}
	})
	return s
}

// populate makes nodes and waits until Flux has them ready.
func (s *stage) populate(nodes ...testfleet.Node) {
	s.Expect(s.Add(s.ctx, nodes...)).To(Succeed())
	s.Expect(s.AwaitReady(s.ctx)).To(Succeed())
}

// dump shows what a failed test left; of a large fleet, what has gone wrong with it.
func (s *stage) dump(t *testing.T) {
	wf := &wavefrontv1.Wavefront{}
	wf.Name = cmp.Or(s.wavefrontName, s.Namespace())
	// Not the test's context, which may be what is over.
	if err := s.env.Client().Get(context.Background(), client.ObjectKeyFromObject(wf), wf); err != nil {
		t.Log(err)
	}
	t.Log(summary(wf))
	t.Log(s.controller.Tail())
	const readable = 50
	if len(s.Nodes()) > readable {
		for _, m := range wf.Status.Members {
			if m.State != wavefrontv1.StateSettled {
				t.Logf("%+v", m)
			}
		}
		return
	}
	status, err := yaml.Marshal(&wf.Status)
	t.Log(string(status), err)
	for _, list := range []client.ObjectList{&sourcev1.GitRepositoryList{}, &kustomizev1.KustomizationList{}} {
		if err := s.env.Client().List(context.Background(), list, client.InNamespace(s.Namespace())); err != nil {
			t.Log(err)
		}
		objects, err := yaml.Marshal(list)
		t.Log(string(objects), err)
	}
	for _, n := range s.receiver.Delivered() {
		t.Log(n)
	}
}

// enforce creates the Wavefront and waits until every node is settled.
func (s *stage) enforce() {
	s.create(wavefrontv1.ModeEnforce)
	s.awaitQuiescent()
}

// create creates the Wavefront.
func (s *stage) create(mode wavefrontv1.Mode) {
	s.wavefront = s.Wavefront(mode)
	if s.wavefrontName != "" {
		s.wavefront.Name = s.wavefrontName
	}
	s.wavefront.Labels = map[string]string{testfleet.Label: s.Namespace()}
	s.wavefront.Spec.Poll = wavefrontv1.Poll{
		Interval:   &metav1.Duration{Duration: s.interval},
		ReplicaLag: &metav1.Duration{Duration: 500 * time.Millisecond},
	}
	s.ExpectWithOffset(2, s.env.Client().Create(s.ctx, s.wavefront)).To(Succeed())
}

// awaitQuiescent waits until every node is settled.
func (s *stage) awaitQuiescent() {
	s.await(func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.Phase == wavefrontv1.PhaseQuiescent && wf.Status.Nodes != nil && wf.Status.Nodes.Observed == len(s.Nodes())
	})
}

func (s *stage) await(condition func(*wavefrontv1.Wavefront) bool) *wavefrontv1.Wavefront {
	key := client.ObjectKeyFromObject(s.wavefront)
	wf, err := testfleet.Await(s.ctx, s.env.Client(), &wavefrontv1.WavefrontList{}, key, condition)
	s.ExpectWithOffset(2, err).NotTo(HaveOccurred(), func() string { return summary(wf) })
	s.conforms(wf)
	return wf
}

// summary says in a line how far a Wavefront has come.
func summary(wf *wavefrontv1.Wavefront) string {
	if wf == nil || wf.Status.Nodes == nil {
		return "the Wavefront has not been evaluated"
	}
	return fmt.Sprintf("%s at %s: %s", wf.Status.Phase, wf.Status.LastEvaluated, conditions.GetMessage(wf, fluxmeta.ReadyCondition))
}

// conforms checks what kstatus expects of the object.
func (s *stage) conforms(wf *wavefrontv1.Wavefront) {
	checker := check.NewChecker(nil, &check.Conditions{NegativePolarity: []string{"Stalled", "Reconciling"}})
	checker.DisableFetch = true
	checker.WithT(s.WithT).CheckErr(s.ctx, wf)
}

// push commits a release of a node and returns its commit.
func (s *stage) push(node string, release testfleet.Release) string {
	commit, err := s.Push(s.ctx, node, release)
	s.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return commit
}

// told waits until exactly these notifications, in any order, have reached an
// Alert since the last call.
func (s *stage) told(seen *int, want ...string) {
	fresh := func() []string {
		var texts []string
		for _, n := range s.receiver.Delivered()[*seen:] {
			texts = append(texts, n.String())
		}
		return texts
	}
	s.EventuallyWithOffset(1, fresh, "60s", "100ms").Should(ConsistOf(want))
	*seen += len(want)
}

// scrape reads the controller's metrics.
func (s *stage) scrape() map[string]*dto.MetricFamily {
	resp, err := http.Get(s.controller.MetricsURL + "/metrics")
	s.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	s.Expect(err).NotTo(HaveOccurred())
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	s.Expect(err).NotTo(HaveOccurred())
	return families
}

// configDir is a folder of the project's config.
func configDir(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "config"}, parts...)...)
}

func nodeNames(n int) []testfleet.Node {
	nodes := make([]testfleet.Node, n)
	for i := range nodes {
		nodes[i].Name = fmt.Sprintf("team-%03d", i)
		if i > 0 {
			nodes[i].DependsOn = []string{nodes[(i-1)/4].Name}
		}
	}
	return nodes
}
