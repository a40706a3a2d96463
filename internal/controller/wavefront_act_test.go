// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
)

// TestUntold: what an earlier process admitted without living to tell of it is
// told by the next one, once; what it told, or did not do, is not.
func TestUntold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// shown is the pin that the status has; nil leaves the source out.
		shown *string
		// change edits the source, which was advanced from A to B.
		change string
		want   []string
	}{
		{name: "an advance", shown: new(shaA), want: []string{"app PinAdvanced"}},
		{name: "told by then", shown: new(shaB)},
		{name: "left out of the status"},
		{name: "another pin in between", shown: new("cccccccccccccccccccccccccccccccccccccccc")},
		{name: "an initial pin", shown: new(""), want: []string{"app InitialPin"},
			change: `{"metadata":{"annotations":{"wavefront.as-code.io/previous-pin":null}}}`},
		{name: "admitted by force", shown: new(shaA),
			change: `{"metadata":{"annotations":{"wavefront.as-code.io/forced-by":"somebody"}}}`},
		{name: "owned by another", shown: new(shaA),
			change: `{"metadata":{"annotations":{"wavefront.as-code.io/wavefront":"other"}}}`},
		{name: "another record", shown: new(shaA),
			change: `{"metadata":{"annotations":{"wavefront.as-code.io/pinned-commit":"` + shaA + `"}}}`},
		{name: "pinned by hand", shown: new(shaA),
			change: `{"metadata":{"annotations":{"wavefront.as-code.io/held-by":"somebody since 2026-03-01T00:00:00Z"}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
			r.mustPass("fleet")
			j, _, err := r.wavefronts.judge(t.Context(), r.wavefronts.scopes.of("fleet"), r.wavefront("fleet"))
			r.Expect(err).NotTo(HaveOccurred())
			r.see()
			move := fleet.Move{Kind: fleet.Advance, Source: idOf("app"), From: shaA, To: shaB}
			r.wavefronts.Writer.Move(t.Context(), move, j.snap.GitRepository(idOf("app")), "fleet")
			r.Expect(r.source("app").Spec.Reference.Commit).To(Equal(shaB))
			if tt.change != "" {
				r.edit(r.source("app"), tt.change)
			}
			wf := r.wavefront("fleet")
			wf.Status.Members = nil
			if tt.shown != nil {
				wf.Status.Members = []wavefrontv1.Member{{Source: "apps/app", Pin: *tt.shown}, {Role: wavefrontv1.RoleGate}}
			}
			r.Expect(r.Status().Update(t.Context(), wf)).To(Succeed())
			r.inbox.take("")

			r.restart()
			r.mustPass("fleet")
			r.mustPass("fleet")
			told := []string{}
			for _, event := range r.inbox.take("GitRepository") {
				if event == "app PinAdvanced" || event == "app InitialPin" {
					told = append(told, event)
				}
			}
			r.Expect(told).To(ConsistOf(tt.want))
		})
	}
}

// TestWriteFails: a pin that can't be written is told of once, and tried again
// soon; others are not held up.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, append(fleetOfOne(wavefrontv1.ModeEnforce), aNode("web", "fleet", shaA), aSource("web", shaA))...)
	failed := 0
	r.refuse = func(obj client.Object) error {
		if obj == nil && failed == 0 {
			failed++
			return errRefused
		}
		return nil
	}
	result := r.mustPass("fleet")
	r.Expect(result.RequeueAfter).To(BeNumerically("<=", failureRetry))
	r.Expect(r.writes).To(HaveKeyWithValue("apply", 1), "the other one")
	r.Expect(r.inbox.take("GitRepository")).To(ConsistOf(HaveSuffix("PinFailed"), HaveSuffix("InitialPin")))
	r.mustPass("fleet")
	r.Expect(r.writes).To(HaveKeyWithValue("apply", 2))
}

// TestReactionWaitsForSuspension: a pin that vanishes while the Wavefront is suspended
// for a moment, which no pass gets to see, is put back all the same.
func TestReactionWaitsForSuspension(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	r.edit(r.wavefront("fleet"), `{"spec":{"suspend":true}}`)
	r.edit(r.source("app"), `{"spec":{"ref":{"commit":null}}}`)
	result, err := r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result.RequeueAfter).To(Equal(staleRetry), "nothing else would have it looked at again")
	r.edit(r.wavefront("fleet"), `{"spec":{"suspend":false}}`)
	result, err = r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result.RequeueAfter).To(BeZero())
	r.Expect(r.source("app").Spec.Reference.Commit).To(Equal(shaA))

	// Where a pass does see it, there is nothing to wait for.
	r.edit(r.wavefront("fleet"), `{"spec":{"suspend":true}}`)
	r.edit(r.source("app"), `{"spec":{"ref":{"commit":null}}}`)
	r.mustPass("fleet")
	result, err = r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result.RequeueAfter).To(BeZero())
	r.Expect(r.source("app").Spec.Reference.Commit).To(BeEmpty())
}

// TestFailuresAreForgiven: a source that could not be written is in trouble for as
// long as there is something to write, and no longer.
func TestFailuresAreForgiven(t *testing.T) {
	t.Parallel()
	unhealthy := func(r *rig) int {
		r.mustPass("fleet")
		return r.wavefront("fleet").Status.Nodes.Unhealthy
	}
	t.Run("the candidate is gone again", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
		r.mustPass("fleet")
		r.see()
		r.refuse = func(obj client.Object) error {
			if obj == nil {
				return errRefused
			}
			return nil
		}
		for range 3 {
			m := fleet.Move{Kind: fleet.Advance, Source: idOf("app"), From: shaA, To: shaB}
			r.Expect(r.wavefronts.Writer.Move(t.Context(), m, r.source("app"), "fleet").Outcome).To(Equal(pin.Failed))
		}
		r.clock.Step(2 * time.Second)
		result, err := r.pass("fleet")
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(r.wavefront("fleet").Status.Nodes.Unhealthy).To(Equal(1))
		r.Expect(result.RequeueAfter).To(BeNumerically("<=", batchWindow))
		r.Expect(unhealthy(r)).To(BeZero())
	})
	t.Run("a hold that can't be shared, and then need not be", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
		r.mustPass("fleet")
		r.edit(r.source("app"), `{"spec":{"ref":{"commit":"`+shaB+`"}}}`)
		r.refuse = func(obj client.Object) error {
			if obj == nil {
				return errRefused
			}
			return nil
		}
		for range 3 {
			_, err := r.react("app")
			r.Expect(err).To(MatchError(errRefused))
		}
		for range 3 {
			r.Expect(unhealthy(r)).To(Equal(1), "there is still something to write")
		}
		r.edit(r.wavefront("fleet"), `{"spec":{"mode":"Shadow"}}`)
		unhealthy(r)
		r.Expect(unhealthy(r)).To(BeZero(), "Shadow writes nothing")
	})
}

// TestReaction: a pin that vanishes is put back outside of the passes, and a pass
// tells of it.
func TestReaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	r.inbox.take("")
	woken := 0
	r.wavefronts.ledger.onOutcome(func(string) { woken++ })

	r.edit(r.source("app"), `{"spec":{"ref":{"commit":null}}}`)
	r.refuse = func(client.Object) error { return errRefused }
	_, err := r.react("app")
	r.Expect(err).To(MatchError(errRefused))
	r.Expect(woken).To(Equal(1), "nothing else would have it told")
	r.refuse = nil
	_, err = r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.source("app").Spec.Reference.Commit).To(Equal(shaA))
	r.Expect(woken).To(Equal(2))
	r.mustPass("fleet")
	r.Expect(r.inbox.take("GitRepository")).To(ContainElements("app PinFailed", "app PinRestored"))

	// Nobody's source is nobody's to write.
	r.wavefronts.ledger.forget("fleet")
	r.edit(r.source("app"), `{"spec":{"ref":{"commit":null}}}`)
	_, err = r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.source("app").Spec.Reference.Commit).To(BeEmpty())
	result, err := r.react("gone")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result.IsZero()).To(BeTrue())
}

// TestVanishedBeforeTheFirstPass: a pin that vanishes while a process starts is not
// given up because nobody knows yet whose it is.
func TestVanishedBeforeTheFirstPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeEnforce)...)
	r.mustPass("fleet")
	r.restart()
	r.see()
	var changed []fleet.ID
	r.wavefronts.ledger.onPolicy(func(id fleet.ID) { changed = append(changed, id) })
	r.edit(r.source("app"), `{"spec":{"ref":{"commit":null}}}`)
	floated := r.source("app")
	floated.Status.Artifact.Revision = "main@sha1:" + shaB
	r.Expect(r.Status().Update(t.Context(), floated)).To(Succeed())
	_, err := r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.mustPass("fleet")
	r.Expect(changed).To(Equal([]fleet.ID{idOf("app")}))
	r.inbox.take("")
	_, err = r.react("app")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.source("app").Spec.Reference.Commit).To(Equal(shaA))
	r.mustPass("fleet")
	r.Expect(r.inbox.take("GitRepository")).To(ContainElement("app PinRestored"))
}

// TestRecheckOfClaims: where time alone tells whose a pin is, somebody comes back
// for it: nothing else may happen.
func TestRecheckOfClaims(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleetOfOne(wavefrontv1.ModeShadow)...)
	r.mustPass("fleet")
	r.Expect(r.Patch(t.Context(), r.source("app"),
		client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"ref":{"commit":"`+shaB+`"}}}`)),
		client.FieldOwner("kustomize-controller"))).To(Succeed())
	r.see()
	s, wf := r.wavefronts.scopes.of("fleet"), r.wavefront("fleet")
	_, retry, err := r.wavefronts.judge(t.Context(), s, wf)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(retry).To(BeNumerically("~", 10*time.Second, time.Second))
	r.clock.Step(retry)
	j, retry, err := r.wavefronts.judge(t.Context(), s, wf)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(retry).To(BeZero())
	r.Expect(j.ev.Sources[0].Hold).To(HaveValue(HaveField("Reason", fleet.Declared)))
}

// TestTargets: the sources of other Wavefronts that this one depends on are
// observed at its own pace.
func TestTargets(t *testing.T) {
	t.Parallel()
	app := aNode("app", "fleet", shaA)
	app.Spec.DependsOn = append(app.Spec.DependsOn, dependency("db"))
	r := newRig(t, aWavefront("fleet", wavefrontv1.ModeEnforce), aWavefront("base", wavefrontv1.ModeEnforce),
		app, aSource("app", shaA), aNode("db", "base", shaA), aSource("db", shaA), aNode("x", "base", shaA), aSource("x", shaA))
	r.mustPass("base")
	r.mustPass("fleet")
	r.see()
	j, _, err := r.wavefronts.judge(t.Context(), r.wavefronts.scopes.of("fleet"), r.wavefront("fleet"))
	r.Expect(err).NotTo(HaveOccurred())
	ranks := map[string]int{}
	for _, target := range targets(j) {
		ranks[target.Source.Name] = target.Rank
	}
	r.Expect(ranks).To(Equal(map[string]int{"app": 1, "db": 0}))
	r.Expect(policies(r.wavefront("fleet"), j)).To(HaveLen(1), "it is never moved from here")
}
