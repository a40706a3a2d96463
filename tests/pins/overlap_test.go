// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// other marks the nodes of a second Wavefront.
const other = "pins.wavefront.as-code.io/other"

func marked(k *kustomizev1.Kustomization) { k.Labels[other] = k.Namespace }

// second creates a Wavefront for the marked nodes.
func (f *fixture) second(mode wavefrontv1.Mode) string {
	f.t.Helper()
	name := f.Namespace() + "-second"
	f.wavefront(mode, func(w *wavefrontv1.Wavefront) {
		w.Name = name
		w.Spec.Nodes.Selector = metav1.LabelSelector{MatchLabels: map[string]string{other: f.Namespace()}}
	})
	return name
}

// graphReason waits for the reason of a Wavefront's GraphValid.
func (f *fixture) graphReason(name string, status metav1.ConditionStatus, reason wavefrontv1.ConditionReason) {
	f.t.Helper()
	f.status(name, string(reason), func(s *wavefrontv1.WavefrontStatus) bool {
		c := apimeta.FindStatusCondition(s.Conditions, wavefrontv1.GraphValidCondition)
		return c != nil && c.Status == status && c.Reason == string(reason)
	})
}

// TestOverlap: what two Wavefronts claim, and what is behind it, stands still; everything
// else goes on; and it recovers as soon as one of them gives way, however it does.
func TestOverlap(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "overlap", testfleet.Node{Name: "contested", Mutate: marked},
		testfleet.Node{Name: "behind", DependsOn: []string{"contested"}}, testfleet.Node{Name: "free"})
	f.enforce()
	f.quiescent()
	name := f.second(wavefrontv1.ModeEnforce)
	ways := []struct{ what, away, back string }{
		{what: "suspended", away: `{"spec":{"suspend":true}}`, back: `{"spec":{"suspend":false}}`},
		{what: "in Shadow", away: `{"spec":{"mode":"Shadow"}}`, back: `{"spec":{"mode":"Enforce"}}`},
		{what: "deleted"},
	}
	for _, way := range ways {
		t.Logf("the other one, until it is %s", way.what)
		f.graphReason(f.Namespace(), metav1.ConditionFalse, wavefrontv1.SelectorOverlapReason)
		f.graphReason(name, metav1.ConditionFalse, wavefrontv1.SelectorOverlapReason)
		before := map[string]string{"contested": testfleet.PinOf(f.get("contested")), "behind": testfleet.PinOf(f.get("behind"))}
		heads := map[string]string{}
		for _, node := range []string{"contested", "behind", "free"} {
			heads[node] = f.push(node)
		}
		f.awaitApplied("free", heads["free"])
		f.member("behind", "the reason", func(m wavefrontv1.Member) bool { return m.Blocked != nil && m.Pin == before["behind"] })
		for node, pin := range before {
			f.g.Expect(testfleet.PinOf(f.get(node))).To(Equal(pin), "%s stands still", node)
		}
		f.pinBy("somebody", "contested", "")
		f.source("contested", "the pin to be put back", func(s *sourcev1.GitRepository) bool {
			return testfleet.PinOf(s) == before["contested"] && owner(s) == f.Namespace()
		})
		if way.away == "" {
			f.delete(name)
		} else {
			f.patchWavefront(name, way.away)
		}
		f.awaitApplied("contested", heads["contested"])
		f.awaitApplied("behind", heads["behind"])
		if way.back != "" {
			f.patchWavefront(name, way.back)
		}
	}
	f.graphReason(f.Namespace(), metav1.ConditionTrue, wavefrontv1.ValidReason)
	f.quiescent()
}

// TestSourceOverlap: different nodes, one source.
func TestSourceOverlap(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "sources", testfleet.Node{Name: "mine", Source: "mono"},
		testfleet.Node{Name: "theirs", Source: "mono", Mutate: func(k *kustomizev1.Kustomization) {
			marked(k)
			delete(k.Labels, wavefrontv1.ManagedLabel)
		}}, testfleet.Node{Name: "free"})
	f.enforce()
	f.quiescent()
	name := f.second(wavefrontv1.ModeEnforce)
	f.graphReason(f.Namespace(), metav1.ConditionFalse, wavefrontv1.SourceOverlapReason)
	f.graphReason(name, metav1.ConditionFalse, wavefrontv1.SourceOverlapReason)
	pin := testfleet.PinOf(f.get("mono"))
	head := f.push("mine")
	f.awaitApplied("free", f.push("free"))
	f.g.Consistently(func() string { return testfleet.PinOf(f.get("mono")) }, 2*interval, time.Second).Should(Equal(pin))
	f.delete(name)
	f.awaitApplied("mine", head)
	f.quiescent()
}
