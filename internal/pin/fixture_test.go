// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Commits of the tests.
var (
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 40)
	commitC = strings.Repeat("c", 40)
)

const (
	testURL = "https://git.example.com/team/repo.git"
	testRef = "refs/heads/main"
	flux    = "kustomize-controller"
	edit    = "kubectl-edit"
	fleetWF = "fleet"
)

// base is when the tests' clock starts.
var base = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// testClock is moved by hand.
type testClock struct {
	seq uint64
	at  time.Duration
}

func (c *testClock) now() fleet.Instant {
	c.seq++
	return fleet.Instant{Seq: c.seq, At: c.at}
}

func (c *testClock) time() time.Time { return base.Add(c.at) }

// source is a managed GitRepository on branch main.
type source struct {
	*sourcev1.GitRepository
}

func aSource(version int) source {
	return source{&sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "apps", Name: "repo", UID: types.UID("uid-1"), ResourceVersion: strconv.Itoa(version),
			Labels: map[string]string{wavefrontv1.ManagedLabel: "true"},
		},
		Spec: sourcev1.GitRepositorySpec{
			URL:       testURL,
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
	}}
}

// at sets the pin and who owns it.
func (s source) at(commit string, managers ...string) source {
	s.Spec.Reference.Commit = commit
	for _, m := range managers {
		s.ManagedFields = append(s.ManagedFields, entry(m, base, "spec", "ref", "commit"))
	}
	return s
}

// recorded sets the annotations that go with a pin.
func (s source) recorded(commit string) source {
	return s.annotated(
		wavefrontv1.OwnerAnnotation, fleetWF,
		wavefrontv1.PinnedCommitAnnotation, commit,
		wavefrontv1.ObservedRefAnnotation, testRef,
		wavefrontv1.ObservedURLAnnotation, testURL,
		wavefrontv1.AdmittedAtAnnotation, base.Format(time.RFC3339),
	)
}

// heldByHand is held for kubectl edit.
func (s source) heldByHand() source {
	return s.annotated(wavefrontv1.HeldByAnnotation, HeldBy(edit, base))
}

func (s source) annotated(pairs ...string) source {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	for i := 0; i < len(pairs); i += 2 {
		s.Annotations[pairs[i]] = pairs[i+1]
	}
	return s
}

// facts are what cluster makes of the object, as far as the Judge asks for it.
func (s source) facts() fleet.Source {
	f := fleet.Source{
		ID: sourceID(s.GitRepository), UID: string(s.UID), Managed: s.Labels[wavefrontv1.ManagedLabel] == "true", URL: testURL,
		Pin: pinOf(s.GitRepository), Record: recordOf(s.GitRepository),
	}
	f.Ref, f.RefStyle = trackingRef(s.GitRepository)
	f.Suspended, f.Generation, f.ObservedGeneration = s.Spec.Suspend, s.Generation, s.Status.ObservedGeneration
	for _, c := range s.Status.Conditions {
		if c.Type == fluxmeta.ReadyCondition {
			f.Ready = fleet.Condition{Status: fleet.Status(c.Status), ObservedGeneration: c.ObservedGeneration}
		}
	}
	if f.Record != "" && s.Annotations[wavefrontv1.ObservedRefAnnotation] != f.Ref {
		f.Record, f.VoidRecord = "", true
	}
	if a := s.Status.Artifact; a != nil {
		f.Artifact = fleet.Commit(a.Revision)
	}
	return f
}

// entry is a managedFields entry that owns one path.
func entry(manager string, at time.Time, path ...any) metav1.ManagedFieldsEntry {
	raw, err := fieldpath.NewSet(fieldpath.MakePathOrDie(path...)).ToJSON()
	if err != nil {
		panic(err)
	}
	t := metav1.NewTime(at)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Time: &t,
		APIVersion: sourcev1.GroupVersion.String(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
	}
}
