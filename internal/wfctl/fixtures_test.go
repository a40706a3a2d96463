// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// clock of all fixtures.
var fixtureNow = time.Date(2026, 3, 14, 3, 7, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(fixtureNow.Add(-d)) }

// commit returns a plausible hash of one digit.
func commit(digit string) string { return strings.Repeat(digit, 40) }

// fixture is a fleet as the API server would hold it.
type fixture struct {
	wavefront *wavefrontv1.Wavefront
	objects   []client.Object
}

func newFixture(mode wavefrontv1.Mode, phase wavefrontv1.Phase) *fixture {
	evaluated := ago(20 * time.Second)
	return &fixture{wavefront: &wavefrontv1.Wavefront{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet", Generation: 4, UID: "wavefront-uid"},
		Spec: wavefrontv1.WavefrontSpec{
			Nodes: wavefrontv1.NodeSelection{
				Kinds:    []wavefrontv1.NodeKind{wavefrontv1.NodeKindKustomization},
				Selector: metav1.LabelSelector{MatchLabels: map[string]string{wavefrontv1.ManagedLabel: "true"}},
			},
			Mode: mode,
		},
		Status: wavefrontv1.WavefrontStatus{
			ObservedGeneration: 4, Phase: phase, Nodes: &wavefrontv1.NodeCounts{}, LastEvaluated: &evaluated,
			Conditions: []metav1.Condition{
				{Type: "Ready", Status: "True", Reason: "EvaluationSucceeded", Message: "the fleet was evaluated", LastTransitionTime: ago(time.Hour)},
				{Type: "GraphValid", Status: "True", Reason: "Valid", Message: "the dependencies can be ordered", LastTransitionTime: ago(time.Hour)},
			},
		},
	}}
}

// change changes a member.
type change func(*wavefrontv1.Member)

func (f *fixture) node(path, state string, wave int, changes ...change) *fixture {
	m := wavefrontv1.Member{
		Node: node(path), Role: wavefrontv1.RolePinned, State: wavefrontv1.NodeState(state), Wave: wave,
		Source: path + "-repo", Pin: commit("a"), ObservedSHA: commit("a"), Ready: state == "Settled",
	}
	for _, c := range changes {
		c(&m)
	}
	s := &f.wavefront.Status
	s.Members = append(s.Members, m)
	f.count(m)
	if m.Blocked != nil && len(s.Blocked) < wavefrontv1.MaxListed {
		s.Blocked = append(s.Blocked, wavefrontv1.BlockedNode{Node: m.Node, Since: ago(12 * time.Minute), Reason: m.Blocked.Reason, Ancestor: m.Blocked.Ancestor})
	}
	return f
}

func (f *fixture) count(m wavefrontv1.Member) {
	c := f.wavefront.Status.Nodes
	c.Observed++
	if m.Role == wavefrontv1.RolePinned {
		c.Pinned++
	} else {
		c.Gates++
	}
	switch m.State {
	case wavefrontv1.StateSettled:
		c.Settled++
	case wavefrontv1.StatePending, wavefrontv1.StateAdmissible:
		c.Pending++
	case wavefrontv1.StateConverging:
		c.Converging++
	default:
	}
	if m.Trouble != "" {
		c.Unhealthy++
	}
	if m.Blocked != nil {
		c.Blocked++
	}
	if m.Held {
		c.Held++
	}
}

func node(path string) wavefrontv1.NodeReference {
	namespace, name, _ := strings.Cut(path, "/")
	return wavefrontv1.NodeReference{Kind: "Kustomization", Namespace: namespace, Name: name}
}

func after(paths ...string) change {
	return func(m *wavefrontv1.Member) {
		for _, p := range paths {
			m.DependsOn = append(m.DependsOn, node(p))
		}
	}
}

func gate(m *wavefrontv1.Member) {
	m.Role, m.Source, m.Pin, m.ObservedSHA = wavefrontv1.RoleGate, "", "", ""
}

func from(source string) change { return func(m *wavefrontv1.Member) { m.Source = source } }

func waits(sha string) change {
	return func(m *wavefrontv1.Member) {
		since := ago(12 * time.Minute)
		m.ObservedSHA, m.PendingSince = commit(sha), &since
	}
}

func blocked(reason, by string) change {
	return func(m *wavefrontv1.Member) {
		m.Blocked = &wavefrontv1.MemberBlock{Reason: reason}
		if by != "" {
			n := node(by)
			m.Blocked.Ancestor = &n
		}
	}
}

func trouble(text string) change { return func(m *wavefrontv1.Member) { m.Trouble = text } }

func unseen(why string) change {
	return func(m *wavefrontv1.Member) { m.ObservedSHA, m.ObservationError = "", why }
}

func held(m *wavefrontv1.Member) { m.Held = true }

func (f *fixture) holds(path, reason, manager string) *fixture {
	s := &f.wavefront.Status
	s.Held = append(s.Held, wavefrontv1.HeldNode{Node: node(path), Source: path + "-repo", Reason: reason, Manager: manager})
	return f
}

func (f *fixture) graph(status metav1.ConditionStatus, reason, message string) *fixture {
	c := &f.wavefront.Status.Conditions[1]
	c.Status, c.Reason, c.Message = status, reason, message
	return f
}

// source adds a GitRepository whose commit is owned by the managers.
func (f *fixture) source(path string, managers ...string) *sourcev1.GitRepository {
	namespace, name, _ := strings.Cut(path, "/")
	stored := ago(40 * time.Minute)
	g := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name), Generation: 3,
			Labels: map[string]string{wavefrontv1.ManagedLabel: "true"},
			Annotations: map[string]string{
				wavefrontv1.OwnerAnnotation: "fleet", wavefrontv1.PinnedCommitAnnotation: commit("a"),
				wavefrontv1.PreviousPinAnnotation: commit("9"), wavefrontv1.ObservedRefAnnotation: "refs/heads/main",
				wavefrontv1.ObservedURLAnnotation: "https://git.example.com/" + name + ".git",
				wavefrontv1.AdmittedAtAnnotation:  fixtureNow.Add(-41 * time.Minute).Format(time.RFC3339),
			},
		},
		Spec: sourcev1.GitRepositorySpec{
			URL: "https://deploy:s3cr3t@git.example.com/" + name + ".git", Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.GitRepositoryRef{Branch: "main", Commit: commit("a")},
			SecretRef: &fluxmeta.LocalObjectReference{Name: "git-credentials"},
		},
		Status: sourcev1.GitRepositoryStatus{
			ObservedGeneration: 3,
			Artifact:           &fluxmeta.Artifact{Revision: "main@sha1:" + commit("a"), LastUpdateTime: stored, Path: "p", URL: "u", Digest: "sha256:" + commit("d")},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Succeeded",
				Message: "stored artifact for revision 'main@sha1:" + commit("a") + "'", LastTransitionTime: stored}},
		},
	}
	for _, m := range managers {
		at := ago(41 * time.Minute)
		g.ManagedFields = append(g.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: m, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "source.toolkit.fluxcd.io/v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:ref":{"f:commit":{}}}}`),
		})
	}
	f.objects = append(f.objects, g)
	return g
}

// event adds an event of the controller about the Wavefront and the source.
func (f *fixture) event(d time.Duration, kind, reason, action, source, note string) *fixture {
	namespace, name, _ := strings.Cut(source, "/")
	f.objects = append(f.objects, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("fleet.%d", len(f.objects))},
		EventTime:           metav1.NewMicroTime(fixtureNow.Add(-d)),
		ReportingController: wavefrontv1.FieldManager, ReportingInstance: "wavefront-controller-0", Type: kind, Reason: reason, Action: action, Note: note,
		Regarding: corev1.ObjectReference{Kind: "Wavefront", Name: "fleet", Namespace: "default"},
		Related:   &corev1.ObjectReference{Kind: "GitRepository", Namespace: namespace, Name: name},
	})
	return f
}
