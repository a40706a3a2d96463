// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// scenarios are the fleets that every command is shown on. Each is recorded by
// the snapshot command and then replayed.
var scenarios = map[string]func() *fixture{
	"quiescent":   quiescent,
	"blocked":     blockedFleet,
	"cycle":       cycle,
	"held":        heldFleet,
	"shadow":      shadow,
	"unobserved":  unobserved,
	"interleaved": interleaved,
	"suspended":   suspended,
	"stale":       stale,
	"hostile":     hostileFleet,
	"large":       large,
}

// subjects are the node and the source that each scenario's explain and source
// commands are about.
var subjects = map[string][2]string{
	"quiescent":   {"flotillas/app", "flotillas/app-repo"},
	"blocked":     {"flotillas/web", "flotillas/web-repo"},
	"cycle":       {"flotillas/behind", "flotillas/behind-repo"},
	"held":        {"flotillas/web", "flotillas/app-repo"},
	"shadow":      {"flotillas/web", "flotillas/web-repo"},
	"unobserved":  {"flotillas/web", "flotillas/app-repo"},
	"interleaved": {"flotillas/c", "flotillas/repo1"},
	"suspended":   {"flotillas/app", "flotillas/app-repo"},
	"stale":       {"flotillas/app", "flotillas/app-repo"},
	"hostile":     {"flotillas/app", "flotillas/app-repo"},
	"large":       {"team-19/app-99", "team-19/app-99-repo"},
}

func quiescent() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseQuiescent).
		node("flotillas/app", "Settled", 2, after("flotillas/db", "waves/gate-1")).
		node("flotillas/db", "Settled", 0).
		node("waves/gate-1", "Settled", 1, gate, after("flotillas/db"))
	f.source("flotillas/app-repo", "wavefront-controller")
	f.source("flotillas/db-repo", "wavefront-controller")
	return f.
		event(50*time.Minute, "Normal", "InitialPin", "Pin", "flotillas/db-repo", "pinned at aaaaaaaa").
		event(41*time.Minute, "Normal", "PinAdvanced", "Pin", "flotillas/app-repo", "advanced from 99999999 to aaaaaaaa").
		event(10*time.Minute, "Warning", "PinRestored", "Pin", "flotillas/app-repo", "put back at aaaaaaaa: the pin had vanished")
}

func blockedFleet() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseBlocked).
		node("flotillas/db", "Unhealthy", 0, trouble("Ready is False: HealthCheckFailed: timeout waiting for Deployment/db/postgres")).
		node("flotillas/app", "Pending", 1, after("flotillas/db"), waits("b"), blocked("AncestorUnhealthy", "flotillas/db")).
		node("flotillas/web", "Pending", 2, after("flotillas/app"), waits("c"), blocked("AncestorPending", "flotillas/app")).
		node("flotillas/extra", "Pending", 1, after("flotillas/gone"), waits("d"), blocked("AncestorMissing", "flotillas/gone"))
	for _, s := range []string{"db", "app", "web", "extra"} {
		f.source("flotillas/"+s+"-repo", "wavefront-controller")
	}
	return f.event(12*time.Minute, "Warning", "Blocked", "Evaluate", "flotillas/app-repo", "blocked by Kustomization/flotillas/db: unhealthy")
}

// unlabelled is a fleet in which the sources lack the label, empty one in which the
// Kustomizations do.
func unlabelled() *fixture {
	return newFixture(wavefrontv1.ModeShadow, wavefrontv1.PhaseQuiescent).node("flotillas/app", "Settled", 0, gate)
}

func empty() *fixture { return newFixture(wavefrontv1.ModeShadow, wavefrontv1.PhaseQuiescent) }

func cycle() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseBlocked).
		node("flotillas/a", "Pending", -1, after("flotillas/b"), blocked("GraphCycle", "")).
		node("flotillas/b", "Pending", -1, after("flotillas/a"), blocked("GraphCycle", "")).
		node("flotillas/behind", "Pending", -1, after("flotillas/b", "flotillas/free"), waits("b"), blocked("GraphCycle", "flotillas/b")).
		node("flotillas/free", "Settled", 0)
	for _, s := range []string{"a", "b", "behind", "free"} {
		f.source("flotillas/"+s+"-repo", "wavefront-controller")
	}
	return f.graph("False", "CyclesDetected", "nodes depend on themselves: flotillas/a -> flotillas/b -> flotillas/a")
}

func heldFleet() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseBlocked).
		node("flotillas/app", "Pending", 0, waits("b"), held, blocked("SelfHeld", "")).
		node("flotillas/web", "Pending", 1, after("flotillas/app"), waits("c"), blocked("AncestorHeld", "flotillas/app")).
		node("flotillas/legacy", "Settled", 0, held, unseen("")).
		node("flotillas/paused", "Settled", 0, held).
		holds("flotillas/app", "HandPin", "kubectl-edit").
		holds("flotillas/legacy", "Declared", "kustomize-controller").
		holds("flotillas/paused", "Suspend", "")
	app := f.source("flotillas/app-repo", "kubectl-edit", "wavefront-controller")
	app.Annotations[wavefrontv1.HeldByAnnotation] = "kubectl-edit since 2026-03-14T02:30:00Z"
	f.source("flotillas/web-repo", "wavefront-controller")
	f.source("flotillas/legacy-repo", "kustomize-controller")
	f.source("flotillas/paused-repo", "wavefront-controller").Spec.Suspend = true
	return f.event(37*time.Minute, "Warning", "HoldDetected", "Hold", "flotillas/app-repo", "held by kubectl-edit at aaaaaaaa")
}

func shadow() *fixture {
	f := newFixture(wavefrontv1.ModeShadow, wavefrontv1.PhaseAdvancing).
		node("flotillas/db", "Settled", 0).
		node("flotillas/app", "Admissible", 1, after("flotillas/db"), waits("b")).
		node("flotillas/web", "Pending", 2, after("flotillas/app"), waits("c"), blocked("AncestorPending", "flotillas/app"))
	f.wavefront.Status.Shadow = &wavefrontv1.ShadowStatus{Pins: []wavefrontv1.ShadowPin{
		{Source: "flotillas/app-repo", Commit: commit("a")}, {Source: "flotillas/web-repo", Commit: commit("a")},
	}}
	for _, s := range []string{"db", "app", "web"} {
		g := f.source("flotillas/" + s + "-repo")
		g.Annotations, g.Spec.Reference.Commit = nil, ""
	}
	return f.event(time.Minute, "Normal", "ShadowAdmission", "Admit", "flotillas/app-repo", "would advance from aaaaaaaa to bbbbbbbb")
}

func unobserved() *fixture {
	return newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseBlocked).
		node("flotillas/db", "Converging", 0, unseen("")).
		node("flotillas/app", "Pending", 1, after("flotillas/db"), unseen(`Credentials: secret "flotillas/git-credentials" key "password": is required`), blocked("SelfUnobserved", "")).
		node("flotillas/web", "Pending", 2, after("flotillas/app"), waits("c"), blocked("AncestorUnobserved", "flotillas/app"))
}

func interleaved() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseAdvancing).
		node("flotillas/a", "Settled", 0, from("flotillas/repo1")).
		node("flotillas/b", "Converging", 1, from("flotillas/repo2"), after("flotillas/a")).
		node("flotillas/c", "Converging", 2, from("flotillas/repo1"), after("flotillas/b")).
		node("flotillas/d", "Pending", 1, after("flotillas/a"), waits("b"), blocked("AncestorPending", "flotillas/a"))
	f.wavefront.Status.CoAdmitted = [][]string{{"flotillas/repo1", "flotillas/repo2"}}
	f.source("flotillas/repo1", "wavefront-controller")
	f.source("flotillas/repo2", "wavefront-controller")
	return f.graph("True", "InterleavedSources", "sources that can only move together: flotillas/repo1, flotillas/repo2")
}

func suspended() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseAdvancing).
		node("flotillas/db", "Settled", 0).
		node("flotillas/app", "Pending", 1, after("flotillas/db"), waits("b"), blocked("Suspended", ""))
	f.wavefront.Spec.Suspend = true
	f.source("flotillas/app-repo", "wavefront-controller")
	return f
}

// stale is a controller that has stopped, in a fleet too large for its status.
func stale() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseAdvancing).
		node("flotillas/app", "Converging", 1, after("flotillas/db"))
	evaluated := ago(25 * time.Minute)
	s := &f.wavefront.Status
	s.LastEvaluated, s.MembersOmitted, f.wavefront.Generation = &evaluated, 1400, 5
	s.Nodes.Observed, s.Nodes.Pinned, s.Nodes.Settled = 1401, 1401, 1400
	s.Conditions[0] = metav1.Condition{Type: "Ready", Status: "False", Reason: "EvaluationFailed",
		Message: "failed to list Kustomizations: connection refused", LastTransitionTime: ago(25 * time.Minute)}
	f.source("flotillas/app-repo", "wavefront-controller")
	return f
}

// evil is what a cluster may hold: an escape sequence, markup of every output
// language, a formula, and text that runs backwards.
const evil = "\x1b]0;owned\a\x1b[2J\"]; x -> y; <script>alert(1)</script> %%{init}%% \u202e=HYPERLINK(\"http://evil\")"

func hostileFleet() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseQuiescent).
		node("flotillas/app", "Settled", 0, trouble(evil), after("x\x1b[31m/"+evil)).
		node("=cmd|' /C calc'!A0/"+evil, "Settled", 0, from("flotillas/app-repo"), func(m *wavefrontv1.Member) {
			m.Role = wavefrontv1.NodeRole("Pinned")
			m.ObservationError = "failed: https://user:s3cr3t@host/r?token=s3cr3t " + evil
		}).
		graph("True", evil, evil)
	g := f.source("flotillas/app-repo", "wavefront-controller", evil)
	g.Spec.URL = "https://user:s3cr3t@host/" + evil + "?token=s3cr3t"
	g.Annotations[wavefrontv1.HeldByAnnotation] = evil
	g.Annotations[wavefrontv1.PreviousPinAnnotation] = "=1+1"
	g.Status.Conditions[0].Message = "unable to clone 'https://user:s3cr3t@host/r': " + evil
	return f.event(time.Minute, "Warning", "PinFailed", "Pin", "flotillas/app-repo", evil)
}

// large has 20 teams of 100 nodes each: a platform, and chains of ten above it.
func large() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseAdvancing)
	for team := range 20 {
		for i := range 100 {
			path := fmt.Sprintf("team-%02d/app-%02d", team, i)
			wave, state, changes := i/10, "Settled", []change{}
			if wave > 0 {
				changes = append(changes, after(fmt.Sprintf("team-%02d/app-%02d", team, i-10)))
			}
			switch i {
			case 5:
				state = "Converging"
			case 15:
				state = "Pending"
				changes = append(changes, waits("b"), blocked("AncestorPending", fmt.Sprintf("team-%02d/app-05", team)))
			}
			f.node(path, state, wave, changes...)
		}
	}
	return f
}
