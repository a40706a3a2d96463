// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// release is a HelmRelease of a node with its HelmChart. source-controller builds
// the chart; the test does what helm-controller would: it makes the HelmChart, and
// writes the release's status.
type release struct {
	client    client.WithWatch
	namespace string
	name      string
	node      string // empty: nobody applied it
	source    string
}

func (r *release) create(ctx context.Context, g *WithT) {
	chart := &sourcev1.HelmChart{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.namespace + "-" + r.name},
		Spec: sourcev1.HelmChartSpec{
			Chart: "./chart", ReconcileStrategy: sourcev1.ReconcileStrategyRevision,
			Interval:  metav1.Duration{Duration: 10 * time.Minute},
			SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.GitRepositoryKind, Name: r.source},
		},
	}
	g.Expect(r.client.Create(ctx, chart)).To(Succeed())
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name},
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: 10 * time.Minute},
			Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "./chart", ReconcileStrategy: sourcev1.ReconcileStrategyRevision,
				SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.GitRepositoryKind, Name: r.source},
			}},
		},
	}
	if r.node != "" {
		hr.Labels = map[string]string{
			"kustomize.toolkit.fluxcd.io/name": r.node, "kustomize.toolkit.fluxcd.io/namespace": r.namespace,
		}
	}
	g.Expect(r.client.Create(ctx, hr)).To(Succeed())
}

// awaitChart waits until source-controller has built the chart from a commit, and
// returns its version.
func (r *release) awaitChart(ctx context.Context, g *WithT, commit string) string {
	key := client.ObjectKey{Namespace: r.namespace, Name: r.namespace + "-" + r.name}
	chart, err := testfleet.Await(ctx, r.client, &sourcev1.HelmChartList{}, key, func(c *sourcev1.HelmChart) bool {
		// The version carries the commit: what was observed and what was built are
		// written one after the other.
		return testfleet.CommitOf(c.Status.ObservedSourceArtifactRevision) == commit &&
			c.Status.Artifact != nil && strings.HasSuffix(c.Status.Artifact.Revision, commit[:12])
	})
	g.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return chart.Status.Artifact.Revision
}

// deploy writes the status of a release that runs the chart at that version.
func (r *release) deploy(ctx context.Context, g *WithT, version string) {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, hr); err != nil {
			return err
		}
		hr.Status.ObservedGeneration = hr.Generation
		hr.Status.LastAttemptedGeneration = hr.Generation
		hr.Status.LastAttemptedRevision = version
		hr.Status.HelmChart = r.namespace + "/" + r.namespace + "-" + r.name
		hr.Status.Conditions = []metav1.Condition{{
			Type: fluxmeta.ReadyCondition, Status: metav1.ConditionTrue, Reason: "UpgradeSucceeded",
			Message: "deployed " + version, ObservedGeneration: hr.Generation, LastTransitionTime: metav1.Now(),
		}}
		return r.client.Status().Update(ctx, hr)
	})
	g.ExpectWithOffset(1, err).NotTo(HaveOccurred())
}

// pushChart commits a new template to the chart, and nothing that the
// Kustomization applies.
func (s *story) pushChart(ctx context.Context, g *WithT, source, value string) string {
	repo, err := s.Repository(source)
	g.Expect(err).NotTo(HaveOccurred())
	commit, err := repo.Commit(ctx, "main", "Change the chart", env.Files{
		"chart/Chart.yaml":             "apiVersion: v2\nname: app\nversion: 0.1.0\n",
		"chart/templates/message.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {message: " + value + "}\n",
	})
	g.Expect(err).NotTo(HaveOccurred())
	return commit
}

// TestCharts: a chart-only commit looks converged a second after it was admitted:
// the Kustomization is Ready at it, and the release still Ready on the old chart.
// The node is settled only once the release runs the new one.
func TestCharts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	s := begin(ctx, t, env.Shared(t), "charts", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	initial := s.pushChart(ctx, g, "db", "one")
	source := &sourcev1.GitRepository{}
	source.Namespace, source.Name = s.Namespace(), "db"
	g.Expect(s.env.Client().Patch(ctx, source, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now"}}}`)))).To(Succeed())
	g.Expect(s.AwaitApplied(ctx, "db", initial)).To(Succeed())
	db := &release{client: s.env.Client(), namespace: s.Namespace(), name: "db", node: "db", source: "db"}
	db.create(ctx, g)
	db.deploy(ctx, g, db.awaitChart(ctx, g, initial))
	s.enforce(ctx, g)

	app := s.push(ctx, g, "app")
	chart := s.pushChart(ctx, g, "db", "two")
	g.Expect(s.AwaitApplied(ctx, "db", chart)).To(Succeed())
	version := db.awaitChart(ctx, g, chart)
	// Everything that Flux says is Ready now; the release is on the old chart.
	s.awaitStatus(ctx, g, func(wf *wavefrontv1.Wavefront) bool {
		state := map[string]wavefrontv1.NodeState{}
		for _, m := range wf.Status.Members {
			if m.Node.Name != "app" || m.ObservedSHA == app["app"] {
				state[m.Node.Name] = m.State
			}
		}
		return state["db"] == wavefrontv1.StateConverging && state["app"] == wavefrontv1.StatePending
	})
	_, moved := s.timeline.First(testfleet.Pinned("app", app["app"]))
	g.Expect(moved).To(BeFalse(), "app moved before db's release did")
	db.deploy(ctx, g, version)
	g.Expect(s.AwaitApplied(ctx, "app", app["app"])).To(Succeed())
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
}
