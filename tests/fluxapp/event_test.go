// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

// What happens is told once each, on the FluxApp, and related to its release.
func TestEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "events")
	registry := newOCIRegistry(t, false)
	registry.push(t, "podinfo", "6.0.0")
	p.trust(t, registry.server)
	app := p.app(t, "example", registry.chartURL("podinfo"), "~> 6", trusting)
	p.expectReady(t, app, "6.0.0")
	registry.push(t, "podinfo", "6.1.0")
	p.expectReady(t, app, "6.1.0")
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Chart.Version = "~> 9" })
	p.expectFailed(t, app, "Failure")
	p.change(t, app, func(spec *fluxappv1.FluxAppSpec) { spec.Chart.Version = "6.1.0" })
	p.expectKept(t, app, helmKinds...)

	want := []string{
		"Normal ObjectsApplied Reconcile applied ImageRepository " + p.namespace + "/example, ImagePolicy " + p.namespace + "/example",
		"Normal VersionSelected Reconcile selected version 6.0.0 of chart podinfo",
		"Normal InstallSucceeded Reconcile Helm install succeeded for release " + p.namespace + "/example.v1 with chart podinfo@6.0.0",
		"Normal VersionSelected Reconcile selected version 6.1.0 of chart podinfo",
		"Normal UpgradeSucceeded Reconcile Helm upgrade succeeded for release " + p.namespace + "/example.v2 with chart podinfo@6.1.0",
		"Warning Failure Reconcile ImagePolicy " + p.namespace + "/example: unable to determine latest version from provided list",
		"Normal ObjectsPruned Prune deleted ImagePolicy " + p.namespace + "/example, ImageRepository " + p.namespace + "/example: no longer needed",
	}
	for _, event := range want {
		g.Eventually(func(g Gomega) {
			g.Expect(p.events(t)[event]).To(BeNumerically(">=", 1), "%q is not in %v", event, p.events(t))
		},
			patience, often).Should(Succeed())
	}
	for event, count := range p.events(t) {
		g.Expect(event).NotTo(HavePrefix("Warning SourceNotReady"), "fetching a chart is no failure")
		if event != want[0] {
			g.Expect(count).To(BeNumerically("<=", 2), event)
		}
	}
	g.Expect(p.events(t)[want[1]]).To(Equal(1))
	g.Expect(p.events(t)[want[2]]).To(Equal(1))
}

// events counts the events on the FluxApps of the namespace.
func (p place) events(t *testing.T) map[string]int {
	t.Helper()
	var list eventsv1.EventList
	if err := p.Client().List(t.Context(), &list, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, event := range list.Items {
		if event.Regarding.Kind != "FluxApp" {
			continue
		}
		if event.Reason == "UpgradeSucceeded" && (event.Related == nil || event.Related.Kind != "HelmRelease") {
			t.Errorf("event %q is not related to the HelmRelease", event.Note)
		}
		counts[event.Type+" "+event.Reason+" "+event.Action+" "+event.Note]++
		if event.Series != nil {
			counts[event.Type+" "+event.Reason+" "+event.Action+" "+event.Note] += int(event.Series.Count) - 1
		}
	}
	return counts
}
