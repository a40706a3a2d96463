// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet_test

import (
	"context"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestChartOnlyCommitLooksConverged restates what the chart rule stands on: after a
// commit that changes only a chart, Kustomization and HelmRelease are both Ready while
// the old chart runs, and the revisions of chart and release tell.
func TestChartOnlyCommitLooksConverged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	fleet, err := testfleet.New(ctx, e, e.Namespace(t, "chart"))
	g.Expect(err).NotTo(HaveOccurred())
	defer fleet.Close()
	helm := fleet.StartHelm(ctx)
	defer helm.Close()
	g.Expect(fleet.Add(ctx, testfleet.Node{Name: "app", Chart: true})).To(Succeed())
	g.Expect(fleet.AwaitReady(ctx)).To(Succeed())

	helm.Pause()
	commit, err := fleet.Push(ctx, "app", testfleet.Release{ChartOnly: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pin(ctx, fleet, "app", commit)).To(Succeed())
	g.Expect(fleet.AwaitApplied(ctx, "app", commit)).To(Succeed())

	chartKey := client.ObjectKey{Namespace: fleet.Namespace(), Name: fleet.Namespace() + "-app"}
	chart, err := testfleet.Await(ctx, e.Client(), &sourcev1.HelmChartList{}, chartKey, func(c *sourcev1.HelmChart) bool {
		return testfleet.CommitOf(c.Status.ObservedSourceArtifactRevision) == commit && c.Status.Artifact != nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	key := client.ObjectKey{Namespace: fleet.Namespace(), Name: "app"}
	var release helmv2.HelmRelease
	g.Expect(e.Client().Get(ctx, key, &release)).To(Succeed())
	g.Expect(apimeta.IsStatusConditionTrue(release.Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue())
	g.Expect(release.Status.ObservedGeneration).To(Equal(release.Generation))
	g.Expect(release.Status.LastAttemptedRevision).NotTo(Equal(chart.Status.Artifact.Revision), "how to tell")
	g.Expect(chart.Status.Artifact.Revision).To(ContainSubstring(commit[:12]))

	helm.Resume(ctx)
	_, err = testfleet.Await(ctx, e.Client(), &helmv2.HelmReleaseList{}, key, func(r *helmv2.HelmRelease) bool {
		return r.Status.LastAttemptedRevision == chart.Status.Artifact.Revision
	})
	g.Expect(err).NotTo(HaveOccurred())

	helm.Fail(ctx, "app", true)
	_, err = testfleet.Await(ctx, e.Client(), &helmv2.HelmReleaseList{}, key, func(r *helmv2.HelmRelease) bool {
		return apimeta.IsStatusConditionFalse(r.Status.Conditions, fluxmeta.ReadyCondition)
	})
	g.Expect(err).NotTo(HaveOccurred())
}
