// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

func TestScopeNewest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	version := func(rv string) *wavefrontv1.Wavefront {
		wf := aWavefront("fleet", wavefrontv1.ModeShadow)
		wf.ResourceVersion = rv
		return wf
	}
	s := &scope{}
	g.Expect(s.newest(version("5")).ResourceVersion).To(Equal("5"))
	s.wrote(version("10"))
	g.Expect(s.newest(version("9")).ResourceVersion).To(Equal("10"), "the cache is behind our own write")
	g.Expect(s.newest(version("10")).ResourceVersion).To(Equal("10"))
	g.Expect(s.newest(version("9")).ResourceVersion).To(Equal("9"), "what the cache has caught up with is not kept")
}

// TestScopeGrace: a source is let go of after it has been out of scope for the
// whole grace, without a break.
func TestScopeGrace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const grace = 20 * time.Second
	a, b := aSource("a", shaA), aSource("b", shaA)
	s := &scope{}
	step := func(at time.Duration, leavers ...*sourcev1.GitRepository) ([]*sourcev1.GitRepository, time.Duration) {
		return s.due(leavers, grace, at)
	}

	due, wait := step(time.Second, a)
	g.Expect(due).To(BeEmpty())
	g.Expect(wait).To(Equal(grace))
	due, wait = step(11*time.Second, a, b)
	g.Expect(due).To(BeEmpty())
	g.Expect(wait).To(Equal(10*time.Second), "the wait is for the next one")
	due, wait = step(21*time.Second, b)
	g.Expect(due).To(BeEmpty(), "a is back")
	g.Expect(wait).To(Equal(10 * time.Second))
	due, wait = step(31*time.Second, a, b)
	g.Expect(due).To(ConsistOf(b), "a starts anew")
	g.Expect(wait).To(Equal(grace))
	due, _ = step(51*time.Second, a)
	g.Expect(due).To(ConsistOf(a))
}

// TestScopeSweep: a request is handled when everything has been listed and judged
// after it was made, and not before.
func TestScopeSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	observer := r.wavefronts.Observer
	wf := aWavefront("fleet", wavefrontv1.ModeEnforce)
	s := &scope{}
	r.Expect(s.sweep.open(wf)).To(BeFalse(), "nobody asks")

	wf.Annotations = map[string]string{fluxmeta.ReconcileRequestAnnotation: "now"}
	s.sweeping = s.sweep.open(wf)
	r.Expect(s.sweeping).To(BeTrue(), "it has not begun")
	r.Expect(s.asHandled(wf).Annotations).NotTo(HaveKey(fluxmeta.ReconcileRequestAnnotation))
	r.Expect(wf.Annotations).To(HaveKey(fluxmeta.ReconcileRequestAnnotation))
	observer.Sync("fleet", schedule(wf), nil)
	r.Expect(s.sweep.begin(wf, observer)).To(BeTrue(), "there is nothing to list")
	s.sweeping = s.sweep.open(wf)
	r.Expect(s.sweeping).To(BeFalse(), "this pass judges what was listed")
	r.Expect(s.asHandled(wf)).To(BeIdenticalTo(wf))

	// With a source it takes a listing; this observer is not running.
	for _, obj := range []client.Object{aSource("repo", shaA), aNode("repo", "fleet", shaA), wf} {
		r.add(obj)
	}
	r.mustPass("fleet")
	r.mustPass("fleet")
	r.Expect(r.wavefront("fleet").Status.LastHandledReconcileAt).To(BeEmpty())
	r.wavefronts.Observer.Forget("fleet")
	r.mustPass("fleet")
	r.Expect(r.wavefront("fleet").Status.LastHandledReconcileAt).To(Equal("now"))
	before := r.wavefronts.scopes.of("fleet").sweep
	r.edit(r.wavefront("fleet"), `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"later"}}}`)
	r.mustPass("fleet")
	r.Expect(r.wavefronts.scopes.of("fleet").sweep.request).To(Equal("later"))
	r.Expect(before.request).To(Equal("now"))
	r.Expect(r.wavefront("fleet").Status.LastHandledReconcileAt).To(Equal("now"))
}
