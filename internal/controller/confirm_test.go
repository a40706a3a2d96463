// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

func dependency(name string) kustomizev1.DependencyReference {
	return kustomizev1.DependencyReference{Name: name}
}

// live counts what is read of nodes past the cache, and may show them unready.
type live struct {
	client.Reader
	reads   map[string]int
	unready bool
}

func (l *live) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := l.Reader.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	if k, is := obj.(*kustomizev1.Kustomization); is {
		l.reads[key.Name]++
		if l.unready {
			k.Status.Conditions[0].Status = metav1.ConditionFalse
		}
	}
	return nil
}

func (l *live) total() int {
	total := 0
	for _, n := range l.reads {
		total += n
	}
	return total
}

// confirming is a rig with nodes that want nothing but to be confirmed.
func confirming(t *testing.T, nodes int, more ...client.Object) (*rig, *live) {
	objects := append([]client.Object{aWavefront("fleet", wavefrontv1.ModeEnforce)}, more...)
	for i := range nodes {
		name := fmt.Sprintf("node-%03d", i)
		g := aSource(name, shaA)
		g.Spec.Reference.Commit = shaA
		// Git renders the commit: declared, it needs no observation.
		objects = append(objects, g, aNode(name, "fleet", shaA))
	}
	r := newRig(t, objects...)
	r.see()
	r.clock.Step(time.Minute)
	l := &live{Reader: r, reads: map[string]int{}}
	r.wavefronts.Live = l
	return r, l
}

func (r *rig) judge() (*judgement, time.Duration) {
	r.see()
	wf := r.wavefront("fleet")
	j, retry, err := r.wavefronts.judge(context.Background(), r.wavefronts.scope(wf), wf)
	r.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return j, retry
}

// TestConfirmedOnce: a node is read live before it first counts as settled at its
// pin, and then not any more.
func TestConfirmedOnce(t *testing.T) {
	t.Parallel()
	r, l := confirming(t, 3)
	j, retry := r.judge()
	r.Expect(j.ev.Counts.Settled).To(Equal(3))
	r.Expect(retry).To(BeZero())
	r.Expect(l.reads).To(Equal(map[string]int{"node-000": 1, "node-001": 1, "node-002": 1}))
	r.judge()
	r.Expect(l.total()).To(Equal(3))
}

// TestConfirmInBatches: a fleet that wants to be confirmed as a whole does not keep
// anybody waiting, and is done after a few passes.
func TestConfirmInBatches(t *testing.T) {
	t.Parallel()
	const nodes = 2*confirmBatch + 20
	r, l := confirming(t, nodes)
	for _, want := range []int{confirmBatch, 2 * confirmBatch, nodes} {
		j, retry := r.judge()
		r.Expect(l.total()).To(Equal(want))
		r.Expect(j.ev.Counts.Settled).To(Equal(want))
		r.Expect(retry > 0).To(Equal(want < nodes))
	}
}

// TestNotConfirmed: nodes that live reads don't show settled keep no others from
// being read, and are not read in a loop while nothing changes.
func TestNotConfirmed(t *testing.T) {
	t.Parallel()
	const nodes = confirmBatch + 10
	r, l := confirming(t, nodes)
	l.unready = true
	r.judge()
	r.Expect(l.total()).To(Equal(confirmBatch))
	_, retry := r.judge()
	r.Expect(l.total()).To(Equal(nodes), "the others' turn")
	r.Expect(retry).To(BeNumerically("~", confirmGap, confirmGap/2))
	for range 5 {
		_, retry = r.judge()
		r.Expect(retry).To(BeNumerically(">", confirmGap/2))
	}
	r.Expect(l.total()).To(Equal(nodes))

	// The cache moves on: that one is read at once.
	r.edit(aNode("node-007", "fleet", ""), `{"metadata":{"annotations":{"something":"happened"}}}`)
	r.judge()
	r.Expect(l.reads).To(HaveKeyWithValue("node-007", 2))
	r.Expect(l.total()).To(Equal(nodes + 1))

	r.clock.Step(confirmGap)
	l.unready = false
	r.judge()
	j, _ := r.judge()
	r.Expect(j.ev.Counts.Settled).To(Equal(nodes))
}

// TestConfirmTwice: a node with charts is read twice, a second apart, and both
// readings must agree.
func TestConfirmTwice(t *testing.T) {
	t.Parallel()
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "app", UID: "release", Generation: 1,
		Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "node-000", "kustomize.toolkit.fluxcd.io/namespace": "apps"},
	}}
	hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.HelmChartKind, Name: "app"}
	hr.Status.ObservedGeneration, hr.Status.LastAttemptedGeneration, hr.Status.LastAttemptedRevision = 1, 1, "1.0.0"
	hr.Status.Conditions = ready()
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "app", UID: types.UID("chart"), Generation: 1}}
	chart.Spec.SourceRef = sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "node-000"}
	chart.Status.ObservedGeneration, chart.Status.ObservedSourceArtifactRevision = 1, "main@sha1:"+shaA
	chart.Status.Artifact = &fluxmeta.Artifact{Revision: "1.0.0"}
	chart.Status.Conditions = ready()
	r, l := confirming(t, 1, hr, chart)

	settled := func() bool {
		j, _ := r.judge()
		return j.ev.Counts.Settled == 1
	}
	r.Expect(settled()).To(BeFalse())
	_, retry := r.judge()
	r.Expect(retry).To(Equal(confirmGap))
	r.Expect(l.total()).To(Equal(1), "it is not time")
	r.edit(chart.DeepCopy(), `{"metadata":{"annotations":{"something":"happened"}}}`)
	r.clock.Step(confirmGap)
	r.Expect(settled()).To(BeFalse(), "the second reading differs")
	r.clock.Step(confirmGap)
	r.Expect(settled()).To(BeTrue())
	r.Expect(l.total()).To(Equal(3))
}

func TestSamePin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*fleet.Source)
		want   bool
	}{
		{name: "the same", change: func(*fleet.Source) {}, want: true},
		{name: "another object", change: func(s *fleet.Source) { s.UID = "x" }},
		{name: "another pin", change: func(s *fleet.Source) { s.Pin = shaB }},
		{name: "there and back", change: func(s *fleet.Source) { s.PinSeen.Seq++ }},
		{name: "another URL", change: func(s *fleet.Source) { s.URL = "x" }},
		{name: "another reference", change: func(s *fleet.Source) { s.Ref = "x" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			known := fleet.Source{UID: "u", Pin: shaA, PinSeen: fleet.Instant{Seq: 1}, URL: "url", Ref: "refs/heads/main"}
			read := known
			tt.change(&read)
			NewWithT(t).Expect(samePin(&known, &read)).To(Equal(tt.want))
		})
	}
	NewWithT(t).Expect(samePin(nil, nil)).To(BeTrue(), "a gate has no source")
	NewWithT(t).Expect(samePin(&fleet.Source{}, nil)).To(BeFalse())
}
