// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	"github.com/isometry/wavefront-controller/tests/ship/example"
)

// TestRunbook runs the commands of the runbook from its top to its end, on the example
// fleet, which begins in Shadow.
func TestRunbook(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.deployFleet(t)
	s.runAll(t, runbook, func(block) bool { return true })
	// The last section removes everything.
	err := s.Client().List(t.Context(), &wavefrontv1.WavefrontList{})
	NewWithT(t).Expect(apimeta.IsNoMatchError(err) || client.IgnoreNotFound(err) == nil).To(BeTrue(), "%v", err)
}

// deployFleet has Flux apply the example without its Wavefront, which is then applied by
// hand (so that Flux does not undo what the runbook changes), with a short interval.
func (s *shell) deployFleet(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	ctx := t.Context()
	s.apply(t, installer(t, "config/flux-system"))
	_, err := example.Teams(ctx, root, s.Git())
	g.Expect(err).NotTo(HaveOccurred())
	content, err := example.Cluster(root, s.Git())
	g.Expect(err).NotTo(HaveOccurred())
	list := example.ClusterPath + "/kustomization.yaml"
	content[list] = strings.Replace(content[list], "- wavefront.yaml\n", "", 1)
	cluster, err := s.Git().Create(ctx, "cluster")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = cluster.Commit(ctx, "main", "Bootstrap", content)
	g.Expect(err).NotTo(HaveOccurred())
	s.apply(t, example.Sync(cluster.URL(), example.ClusterPath, "1m"))
	for _, name := range example.Flotillas {
		g.Eventually(func(g Gomega) {
			var node kustomizev1.Kustomization
			g.Expect(s.Client().Get(ctx, client.ObjectKey{Namespace: example.Namespace, Name: name}, &node)).To(Succeed())
			g.Expect(apimeta.IsStatusConditionTrue(node.Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue())
		}, patience, glance).Should(Succeed())
	}
	s.apply(t, content[example.Manifest]+"  poll:\n    interval: 5s\n    staleAfter: 10m\n")
	g.Eventually(func(g Gomega) {
		var wavefront wavefrontv1.Wavefront
		g.Expect(s.Client().Get(ctx, client.ObjectKey{Name: "fleet"}, &wavefront)).To(Succeed())
		g.Expect(wavefront.Status.Phase).To(Equal(wavefrontv1.PhaseQuiescent))
	}, patience, glance).Should(Succeed())
}

func (s *shell) apply(t *testing.T, manifests string) {
	t.Helper()
	g := NewWithT(t)
	objs, err := env.Decode([]byte(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Apply(t.Context(), objs...)).To(Succeed())
}
