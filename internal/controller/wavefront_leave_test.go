// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/report"
)

// TestLeaving: a source that leaves the scope is let go of after two intervals,
// and one whose label merely flaps is not.
func TestLeaving(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		policy wavefrontv1.ReleasePolicy
		leave  func(*rig)
		pin    string
		events []string
	}{
		{
			name: "kept", policy: wavefrontv1.ReleaseKeep, pin: shaA, events: []string{"app PinKept"},
			leave: func(r *rig) { r.edit(r.source("app"), `{"metadata":{"labels":null}}`) },
		},
		{
			name: "let float", policy: wavefrontv1.ReleaseFloat, events: []string{"app PinReleased"},
			leave: func(r *rig) { r.edit(aNode("app", "", ""), `{"metadata":{"labels":{"fleet":"none"}}}`) },
		},
		{
			name: "a reference that can't be sequenced", policy: wavefrontv1.ReleaseFloat, events: []string{"app PinReleased"},
			leave: func(r *rig) { r.edit(r.source("app"), `{"spec":{"ref":{"tag":"v1"}}}`) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
			r.edit(r.wavefront("fleet"), `{"spec":{"releasePolicy":"`+string(tt.policy)+`"}}`)
			r.mustPass("fleet")
			r.inbox.take("")
			tt.leave(r)
			waited := r.mustPass("fleet").RequeueAfter
			for range 9 { // of the two intervals, 18 seconds
				r.Expect(r.source("app").Annotations).To(HaveKey(wavefrontv1.OwnerAnnotation))
				waited = r.mustPass("fleet").RequeueAfter
			}
			r.Expect(waited).To(BeNumerically("<=", 2e9), "somebody has to come back for it")
			r.mustPass("fleet")
			source := r.source("app")
			r.Expect(source.Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation))
			r.Expect(source.Spec.Reference.Commit).To(Equal(tt.pin))
			r.Expect(r.inbox.take("GitRepository")).To(ContainElements(tt.events))
		})
	}
}

// TestKeepsWhatItOwned: in Shadow, and suspended, a Wavefront lets go of nothing.
func TestKeepsWhatItOwned(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{`{"spec":{"mode":"Shadow"}}`, `{"spec":{"suspend":true}}`} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
			r.mustPass("fleet")
			r.edit(r.wavefront("fleet"), spec)
			r.edit(r.source("app"), `{"metadata":{"labels":null}}`)
			for range 30 {
				r.mustPass("fleet")
			}
			r.Expect(r.source("app").Annotations).To(HaveKeyWithValue(wavefrontv1.OwnerAnnotation, "fleet"))
		})
	}
}

// TestDeletion: a Wavefront that goes lets go of everything first, in every mode.
func TestDeletion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, spec string
		pin        string
	}{
		{name: "kept", spec: `{}`, pin: shaA},
		{name: "let float", spec: `{"spec":{"releasePolicy":"Float"}}`},
		{name: "suspended", spec: `{"spec":{"releasePolicy":"Float","suspend":true}}`},
		{name: "in Shadow", spec: `{"spec":{"releasePolicy":"Float","mode":"Shadow"}}`},
		{name: "with a spec that can't be carried out", spec: `{"spec":{"releasePolicy":"Float","nodes":{"selector":{"matchLabels":null}}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
			r.mustPass("fleet")
			r.edit(r.wavefront("fleet"), tt.spec)
			r.edit(r.wavefront("fleet"), `{"metadata":{"finalizers":["somebody.else/finalizer","`+wavefrontv1.WavefrontFinalizer+`"]}}`)
			r.Expect(r.Delete(t.Context(), r.wavefront("fleet"))).To(Succeed())
			r.mustPass("fleet")
			source := r.source("app")
			r.Expect(source.Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation))
			r.Expect(source.Spec.Reference.Commit).To(Equal(tt.pin))
			r.Expect(r.wavefront("fleet").Finalizers).To(Equal([]string{"somebody.else/finalizer"}), "it is not ours to remove")
			r.Expect(r.wavefronts.roster.list()).To(BeEmpty())

			r.mustPass("fleet")
			r.edit(r.wavefront("fleet"), `{"metadata":{"finalizers":null}}`)
			r.mustPass("fleet")
			r.Expect(apierrors.IsNotFound(r.Get(t.Context(), client.ObjectKey{Name: "fleet"}, aWavefront("fleet", "")))).To(BeTrue())
		})
	}
}

// TestDeletionPatience: a release that fails is tried again, and does not keep the
// Wavefront for ever.
func TestDeletionPatience(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	r.Expect(r.Delete(t.Context(), r.wavefront("fleet"))).To(Succeed())
	r.refuse = func(obj client.Object) error {
		if obj == nil { // a source
			return errRefused
		}
		return nil
	}
	for range 3 {
		r.clock.Step(releasePatience / 4)
		_, err := r.pass("fleet")
		r.Expect(err).To(MatchError(errRefused))
	}
	ready := apimeta.FindStatusCondition(r.wavefront("fleet").Status.Conditions, fluxmeta.ReadyCondition)
	r.Expect(ready).To(HaveField("Reason", string(wavefrontv1.ReleaseFailedReason)))
	r.clock.Step(releasePatience)
	r.mustPass("fleet")
	r.Expect(apierrors.IsNotFound(r.Get(t.Context(), client.ObjectKey{Name: "fleet"}, aWavefront("fleet", "")))).To(BeTrue())
	r.Expect(r.source("app").Spec.Reference.Commit).To(Equal(shaA))
}

// TestDeletionWithoutLease: patience does not run out into a write of a process
// that does not lead any more.
func TestDeletionWithoutLease(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	r.Expect(r.Delete(t.Context(), r.wavefront("fleet"))).To(Succeed())
	r.lease, r.writes = errRefused, map[string]int{}
	for range 3 {
		r.clock.Step(releasePatience)
		_, err := r.pass("fleet")
		r.Expect(err).To(HaveOccurred())
	}
	r.Expect(r.writes).To(BeEmpty())
	r.Expect(r.wavefront("fleet").Finalizers).NotTo(BeEmpty())
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*fleet.Input)
		want   string
	}{
		{name: "to one that enforces", change: func(*fleet.Input) {}, want: "other"},
		{name: "not to one in Shadow", change: func(in *fleet.Input) { in.Peers[0].Mode = fleet.Shadow }},
		{name: "not to one that goes itself", change: func(in *fleet.Input) { in.Peers[0].Deleting = true }},
		{name: "not to one that does not select it", change: func(in *fleet.Input) { in.Nodes[0].SelectedBy = []string{"fleet"} }},
		{name: "not by a node of another source", change: func(in *fleet.Input) { in.Nodes[0].Source = idOf("x") }},
		{name: "not an unmanaged source", change: func(in *fleet.Input) { in.Sources[0].Managed = false }},
		{name: "not what nobody can pin", change: func(in *fleet.Input) { in.Sources[0].Ref = "" }},
		{name: "not a source that is gone", change: func(in *fleet.Input) { in.Sources = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := &fleet.Input{
				Peers:   []fleet.Wavefront{{Name: "other", Mode: fleet.Enforce}},
				Nodes:   []fleet.Node{{Source: idOf("app"), SelectedBy: []string{"fleet", "other"}}},
				Sources: []fleet.Source{{ID: idOf("app"), Managed: true, Ref: "refs/heads/main"}},
			}
			tt.change(in)
			NewWithT(t).Expect(handOver(in, idOf("app"))).To(Equal(tt.want))
		})
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		result pin.Result
		want   report.Result
		ok     bool
	}{
		{name: "nothing to do", result: pin.Result{Outcome: pin.Idle, Action: pin.ActionKeep}},
		{name: "gone", result: pin.Result{Outcome: pin.Gone}},
		{name: "handed over", result: pin.Result{Outcome: pin.Written, Action: pin.ActionHandOver}},
		{name: "kept", result: pin.Result{Outcome: pin.Written, Action: pin.ActionKeep}, want: report.Kept, ok: true},
		{name: "floats", result: pin.Result{Outcome: pin.Written, Action: pin.ActionFloat}, want: report.Released, ok: true},
		{name: "should float, but is held", result: pin.Result{Outcome: pin.Written, Action: pin.ActionFloat, Kept: true}, want: report.Kept, ok: true},
		{name: "failed", result: pin.Result{Outcome: pin.Failed, Err: errRefused}, want: report.Failed, ok: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			o, ok := released(tt.result)
			g.Expect(ok).To(Equal(tt.ok))
			g.Expect(o.Result).To(Equal(tt.want))
		})
	}
}
