// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/lease"
)

var errRefused = apierrors.NewForbidden(schema.GroupResource{Resource: "wavefronts"}, "fleet", errors.New("no"))

func fleetOfOne(mode wavefrontv1.Mode) []client.Object {
	return []client.Object{aWavefront("fleet", mode), aNode("app", "fleet", shaA), aSource("app", shaA)}
}

// TestFirstPass: the finalizer stands before the first pin, and what was done is
// told once.
func TestFirstPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.refuse = func(obj client.Object) error {
		if obj == nil && !controllerutil.ContainsFinalizer(r.wavefront("fleet"), wavefrontv1.WavefrontFinalizer) {
			t.Error("a source was written before the finalizer")
		}
		return nil
	}
	result := r.mustPass("fleet")
	r.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
	r.Expect(r.writes).To(Equal(map[string]int{"patch": 1, "apply": 1, "status": 1}))
	source := r.source("app")
	r.Expect(source.Spec.Reference.Commit).To(Equal(shaA))
	r.Expect(source.Annotations).To(HaveKeyWithValue(wavefrontv1.OwnerAnnotation, "fleet"))
	r.Expect(r.inbox.take("GitRepository")).To(Equal([]string{"app InitialPin"}))
	r.Expect(r.wavefront("fleet").Status.Conditions).NotTo(BeEmpty())

	r.mustPass("fleet")
	r.Expect(r.inbox.take("GitRepository")).To(BeEmpty())
	r.Expect(r.writes).To(HaveKeyWithValue("apply", 1))
}

func TestShadowWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeShadow)...)
	for range 5 {
		r.mustPass("fleet")
	}
	_, err := r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.writes).NotTo(HaveKey("apply"))
	r.Expect(r.writes).To(HaveKeyWithValue("patch", 1), "the finalizer")
}

// TestOneVersion: a pass acts by the version of the Wavefront that it judged by,
// although the cache has another one by then.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	wf := r.wavefront("fleet")
	wf.Spec.Mode = wavefrontv1.ModeShadow
	wf.Finalizers = []string{wavefrontv1.WavefrontFinalizer}
	r.see()
	s := r.wavefronts.scope(wf)
	j, _, err := r.wavefronts.judge(t.Context(), s, wf)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(j.in.Self.Mode).To(BeEquivalentTo(wavefrontv1.ModeShadow))
	r.Expect(j.snap.Wavefronts).To(HaveLen(1))
}

// TestOfAnotherShard: a Wavefront that is not this process's is left alone, and
// forgotten when it leaves.
func TestOfAnotherShard(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	shard, err := labels.Parse("shard=one")
	r.Expect(err).NotTo(HaveOccurred())
	r.wavefronts.Shard = shard
	r.mustPass("fleet")
	r.Expect(r.writes).To(BeEmpty())
	r.edit(r.wavefront("fleet"), `{"metadata":{"labels":{"shard":"one"}}}`)
	r.writes = map[string]int{}
	r.mustPass("fleet")
	r.Expect(r.writes).To(HaveKeyWithValue("apply", 1))
	r.Expect(r.wavefronts.roster.list()).To(Equal([]string{"fleet"}))
	r.edit(r.wavefront("fleet"), `{"metadata":{"labels":{"shard":"two"}}}`)
	r.mustPass("fleet")
	r.Expect(r.wavefronts.roster.list()).To(BeEmpty())
	r.Expect(r.wavefronts.ledger.policy(idOf("app"))).To(BeZero())
}

// TestPeersOfAnotherShardContest: two Wavefronts of two processes see each other.
func TestPeersOfAnotherShardContest(t *testing.T) {
	t.Parallel()
	other := aWavefront("other", wavefrontv1.ModeEnforce)
	other.Spec.Nodes.Selector = metav1.LabelSelector{MatchLabels: map[string]string{"fleet": "fleet"}}
	r := newRig(t, append(fleetOfOne(wavefrontv1.ModeEnforce), other)...)
	r.mustPass("fleet")
	graph := apimeta.FindStatusCondition(r.wavefront("fleet").Status.Conditions, wavefrontv1.GraphValidCondition)
	r.Expect(graph).To(HaveField("Reason", string(wavefrontv1.SelectorOverlapReason)))
	r.Expect(r.writes).NotTo(HaveKey("apply"))

	// One that is suspended contests nothing.
	r.edit(r.wavefront("other"), `{"spec":{"suspend":true}}`)
	r.mustPass("fleet")
	r.Expect(r.writes).To(HaveKeyWithValue("apply", 1))
}

// TestLeaseLost: nothing at all is written once the lease is not provably ours.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.lease = lease.ErrExpired
	_, err := r.pass("fleet")
	r.Expect(err).To(MatchError(lease.ErrExpired))
	r.Expect(r.writes).To(BeEmpty())

	wf := r.wavefront("fleet")
	wf.Finalizers = []string{wavefrontv1.WavefrontFinalizer}
	r.Expect(r.Update(t.Context(), wf)).To(Succeed())
	_, err = r.pass("fleet")
	r.Expect(err).To(MatchError(errNotLeader))
	r.Expect(r.writes).To(BeEmpty(), "not even the status")
	r.Expect(r.inbox.take("GitRepository")).To(BeEmpty())

	r.lease = nil
	r.mustPass("fleet")
	r.Expect(r.writes).To(HaveKeyWithValue("apply", 1))
}

// TestStatusOfAnotherVersion: a status is not written to a Wavefront that is not
// the one that it was made from.
func TestStatusOfAnotherVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	edited := false
	r.refuse = func(obj client.Object) error {
		if wf, is := obj.(*wavefrontv1.Wavefront); is && controllerutil.ContainsFinalizer(wf, wavefrontv1.WavefrontFinalizer) &&
			len(wf.Status.Conditions) > 0 && !edited {
			edited = true
			r.edit(r.wavefront("fleet"), `{"spec":{"suspend":true}}`)
		}
		return nil
	}
	result := r.mustPass("fleet")
	r.Expect(edited).To(BeTrue())
	r.Expect(result.RequeueAfter).To(Equal(cacheRetry), "no failure: it is judged again")
	r.Expect(r.wavefront("fleet").Status.Conditions).To(BeEmpty())
	r.mustPass("fleet")
	ready := apimeta.FindStatusCondition(r.wavefront("fleet").Status.Conditions, fluxmeta.ReadyCondition)
	r.Expect(ready.Message).To(HavePrefix("suspended; "))
}

// TestAbort: a pass that comes to nothing says so, and the next one recovers.
func TestAbort(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	healthy := r.wavefronts.Reader.Client
	r.wavefronts.Reader.Client = down{r}
	r.clock.Step(2 * time.Second)
	_, err := r.pass("fleet")
	r.Expect(err).To(MatchError(errDown))
	ready := apimeta.FindStatusCondition(r.wavefront("fleet").Status.Conditions, fluxmeta.ReadyCondition)
	r.Expect(ready).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(wavefrontv1.EvaluationFailedReason))))
	r.wavefronts.Reader.Client = healthy
	r.mustPass("fleet")
	r.Expect(apimeta.IsStatusConditionTrue(r.wavefront("fleet").Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue())
}

// TestInvalidSpec: it is terminal, but not before the status says so.
func TestInvalidSpec(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	r.edit(r.wavefront("fleet"), `{"spec":{"nodes":{"selector":{"matchLabels":null}}}}`)
	result, err := r.pass("fleet")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "the status was written a moment ago")

	r.clock.Step(2 * time.Second)
	r.refuse = func(client.Object) error { return errRefused }
	_, err = r.pass("fleet")
	r.Expect(err).To(MatchError(errRefused))
	r.Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeFalse(), "it was not said")

	r.refuse = nil
	r.clock.Step(2 * time.Second)
	_, err = r.pass("fleet")
	r.Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeTrue())
	r.Expect(apimeta.IsStatusConditionTrue(r.wavefront("fleet").Status.Conditions, fluxmeta.StalledCondition)).To(BeTrue())
	r.Expect(r.wavefronts.ledger.policy(idOf("app"))).To(BeZero())
}

// TestNamesake: nothing of a Wavefront outlives it into one of the same name.
func TestNamesake(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	s := r.wavefronts.scopes.of("fleet")
	r.Expect(s.begun).To(BeTrue())
	s.deleting = time.Hour
	wf := r.wavefront("fleet")
	wf.UID = "another"
	r.Expect(r.wavefronts.scope(wf)).NotTo(BeIdenticalTo(s))
	r.Expect(r.wavefronts.scope(wf).deleting).To(BeZero())
}
