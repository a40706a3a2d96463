// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	"github.com/isometry/wavefront-controller/tests/ship/example"
)

const (
	clusterPath = example.ClusterPath
	published   = "https://github.com/isometry/wavefront-controller"
)

// TestInstallAsFluxKustomization is the recommended way: the cluster's repository
// carries config/flux, which fetches the project at a release and applies it. The
// controller then runs under the roles that kustomize-controller applied.
func TestInstallAsFluxKustomization(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSite(t)
	release, err := s.Git().Create(t.Context(), "wavefront-controller")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = release.Commit(t.Context(), "main", "Release", files(t, "config", "config/"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = release.Tag(t.Context(), tagOf(t), "main", "Release")
	g.Expect(err).NotTo(HaveOccurred())

	cluster := files(t, "config/flux", clusterPath+"/wavefront-controller/")
	for path, content := range cluster {
		cluster[path] = strings.ReplaceAll(content, published, release.URL())
	}
	maps.Copy(cluster, wavefrontFiles(t))
	s.bootstrap(t, clusterPath, cluster)

	s.expectKustomization(t, namespace, "wavefront-controller")
	s.expectKustomization(t, namespace, "wavefront")
	s.expectRuns(t)
}

// TestInstallInFluxSystem lists the installer in the flux-system/kustomization.yaml of
// a bootstrapped repository.
func TestInstallInFluxSystem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder := clusterPath + "/flux-system/"
	cluster := env.Files{
		folder + "gotk-sync.yaml":            example.Sync(s.repository.URL(), clusterPath, "1m0s"),
		folder + "wavefront-controller.yaml": installer(t, "config/flux-system"),
		folder + "kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- gotk-sync.yaml
- wavefront-controller.yaml
`,
	}
	maps.Copy(cluster, wavefrontFiles(t))
	s.bootstrap(t, clusterPath, cluster)
	s.expectKustomization(t, namespace, "flux-system")
	s.expectKustomization(t, namespace, "wavefront")
	s.expectRuns(t)
}

// expectRuns asks for a Wavefront that was evaluated, by the shipped image's program.
func (s *site) expectRuns(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	s.expectWavefront(t, "fleet", func(g Gomega, wavefront *wavefrontv1.Wavefront) {
		g.Expect(wavefront.Status.ObservedGeneration).To(Equal(wavefront.Generation))
		g.Expect(wavefront.Status.LastEvaluated).NotTo(BeNil())
	})
	g.Expect(s.Image()).To(Equal("ghcr.io/isometry/wavefront-controller:" + tagOf(t)))
}

// wavefrontFiles are the sample Wavefront and a Kustomization for it, which is retried
// until its kind exists.
func wavefrontFiles(t *testing.T) env.Files {
	t.Helper()
	cluster := files(t, "config/samples", "wavefront/")
	cluster[clusterPath+"/wavefront.yaml"] = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: wavefront
  namespace: flux-system
spec:
  interval: 10m
  retryInterval: 2s
  path: ./wavefront
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
`
	return cluster
}
