// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestLostCommit: the pinned commit is force-pushed away and pruned. What runs stays
// settled while the stored artifact is at the pin; source-controller losing its storage
// makes it unhealthy; the next observed commit heals it.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	e := env.ForTest(t, env.Options{})
	controller, err := e.NewController(t.Context(), env.ControllerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, e, "lost", testfleet.Node{Name: "app", SourceInterval: 5 * time.Second})
	first := testfleet.ArtifactOf(f.get("app"))
	f.enforce()
	lost := f.push("app")
	f.awaitApplied("app", lost)
	f.quiescent()
	// Suspended, so that nothing is admitted until the picture has been seen.
	f.patchWavefront(f.Namespace(), `{"spec":{"suspend":true}}`)
	f.status(f.Namespace(), "the suspension to be seen", func(s *wavefrontv1.WavefrontStatus) bool { return s.ObservedGeneration == 2 })
	repo, err := f.Repository("app")
	f.ok(err)
	f.ok(repo.SetRef(f.ctx, "refs/heads/keep", first))
	f.ok(repo.Reset(f.ctx, "main", first))
	f.ok(repo.Prune(f.ctx))

	f.source("app", "the fetch to fail", func(s *sourcev1.GitRepository) bool {
		for _, c := range s.Status.Conditions {
			if c.Type == sourcev1.FetchFailedCondition && c.Status == metav1.ConditionTrue {
				return testfleet.ArtifactOf(s) == lost
			}
		}
		return false
	})
	f.g.Eventually(func(g Gomega) {
		g.Expect(metric(g, controller.MetricsURL, `wavefront_pinned_fetch_failures{wavefront="`+f.Namespace()+`"}`)).To(Equal("1"))
	}, time.Minute, time.Second).Should(Succeed())
	f.status(f.Namespace(), "what runs to be healthy", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Unhealthy == 0
	})

	f.ok(e.SourceController().Stop())
	f.ok(os.RemoveAll(filepath.Join(e.Dir(), "source-controller")))
	f.ok(os.MkdirAll(filepath.Join(e.Dir(), "source-controller"), 0o755))
	f.ok(e.SourceController().Start(f.ctx))
	f.status(f.Namespace(), "it to be unhealthy", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Unhealthy == 1
	})
	f.member("app", "the lost commit to be named", func(m wavefrontv1.Member) bool {
		return strings.Contains(m.Trouble, lost[:12]) || strings.Contains(m.Trouble, lost)
	})

	f.patchWavefront(f.Namespace(), `{"spec":{"suspend":false}}`)
	head := f.push("app")
	f.awaitApplied("app", head)
	f.quiescent()
}

// metric reads one series of a metrics page.
func metric(g Gomega, url, series string) string {
	response, err := http.Get(url + "/metrics")
	g.Expect(err).NotTo(HaveOccurred())
	page, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	for _, line := range strings.Split(string(page), "\n") {
		if value, found := strings.CutPrefix(line, series+" "); found {
			return value
		}
	}
	return ""
}
