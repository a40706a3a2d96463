// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/tests/env"
)

const (
	fleetSize   = 200
	quietPeriod = 10 * time.Second
)

// Two hundred FluxApps become ready; then nothing at all is asked of the API
// server. Looking at all of them again and again costs no memory, and deleting
// them leaves nothing.
func TestTwoHundredApps(t *testing.T) {
	g := NewWithT(t)
	s := &suite{Env: env.ForTest(t, env.Options{NoFlux: true})}
	g.Expect(s.startDoubles(t.Context(), false)).To(Succeed())
	g.Expect(s.startController(t.Context())).To(Succeed())
	p := s.place(t, "fleet")
	began := time.Now()
	for i := range fleetSize {
		version := "~> 6"
		if i%4 == 0 {
			version = "6.1.0"
		}
		p.app(t, fmt.Sprintf("app-%03d", i), "oci://registry.local/podinfo", version, func(spec *fluxappv1.FluxAppSpec) {
			spec.Interval = &metav1.Duration{Duration: time.Hour}
		})
	}
	p.expectFleet(t, "")
	s.expectQuiet(t)
	t.Logf("%d FluxApps ready after %s, with %d requests (%.1f each)", fleetSize, time.Since(began).Round(time.Millisecond),
		s.requests.total.Load(), float64(s.requests.total.Load())/fleetSize)

	idle := s.requests.total.Load()
	g.Consistently(func() int64 { return s.requests.total.Load() - idle }, quietPeriod, often).
		Should(BeZero(), func() string { return fmt.Sprint(s.requests.last()) })
	t.Logf("%d requests in %s of idleness", s.requests.total.Load()-idle, quietPeriod)

	p.round(t, "warm-up")
	before := heap()
	asked := s.requests.total.Load()
	const rounds = 3
	for i := range rounds {
		p.round(t, fmt.Sprintf("round-%d", i))
	}
	after := heap()
	t.Logf("%d more reconciliations of each: heap %.1f MiB, then %.1f MiB; %.1f requests each", rounds, mebibytes(before), mebibytes(after),
		float64(s.requests.total.Load()-asked)/rounds/fleetSize)
	g.Expect(mebibytes(after)).To(BeNumerically("<", mebibytes(before)*1.1+2), "memory grows with every reconciliation")

	g.Expect(p.Client().DeleteAllOf(t.Context(), &fluxappv1.FluxApp{}, client.InNamespace(p.namespace))).To(Succeed())
	g.Eventually(func(g Gomega) {
		var apps fluxappv1.FluxAppList
		g.Expect(p.Client().List(t.Context(), &apps, client.InNamespace(p.namespace))).To(Succeed())
		g.Expect(apps.Items).To(BeEmpty())
	}, 2*patience, time.Second).Should(Succeed())
	for _, kind := range allKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvks[kind])
		g.Expect(p.Client().List(t.Context(), list, client.InNamespace(p.namespace))).To(Succeed())
		g.Expect(list.Items).To(BeEmpty(), kind)
	}
	g.Expect(s.requests.forbidden()).To(BeEmpty(), "the generated role lacks something")
}

// round has every FluxApp reconciled, down to its release.
func (p place) round(t *testing.T, name string) {
	t.Helper()
	var apps fluxappv1.FluxAppList
	if err := p.Client().List(t.Context(), &apps, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range apps.Items {
		app := &apps.Items[i]
		base := app.DeepCopy()
		app.Annotations = map[string]string{fluxmeta.ReconcileRequestAnnotation: name}
		if err := p.Client().Patch(t.Context(), app, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}
	}
	p.expectFleet(t, name)
	p.expectQuiet(t)
}

// expectFleet waits until all are ready and have handled a request.
func (p place) expectFleet(t *testing.T, handled string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		var apps fluxappv1.FluxAppList
		g.Expect(p.Client().List(t.Context(), &apps, client.InNamespace(p.namespace))).To(Succeed())
		g.Expect(apps.Items).To(HaveLen(fleetSize))
		for i := range apps.Items {
			app := &apps.Items[i]
			g.Expect(summary(app)).To(HavePrefix("True"), app.Name)
			g.Expect(app.Status.AppliedVersion).To(Equal("6.1.0"), app.Name)
			g.Expect(app.Status.LastHandledReconcileAt).To(Equal(handled), app.Name)
		}
	}, 2*patience, 500*time.Millisecond).Should(Succeed())
}

// expectQuiet waits until the controller has asked nothing for two seconds.
func (s *suite) expectQuiet(t *testing.T) {
	t.Helper()
	last, since := s.requests.total.Load(), time.Now()
	NewWithT(t).Eventually(func() bool {
		if now := s.requests.total.Load(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	}, patience, often).Should(BeTrue(), "the controller does not come to rest: %v", s.requests.last())
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func mebibytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
