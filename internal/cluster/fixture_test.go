// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

var (
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 40)
	base    = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
)

const (
	testURL = "https://git.example.com/repo"
	testRef = "refs/heads/main"
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		wavefrontv1.AddToScheme, kustomizev1.AddToScheme, sourcev1.AddToScheme, helmv2.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "apps", Name: name, UID: types.UID("apps/" + name), Generation: 3,
		Labels: map[string]string{wavefrontv1.ManagedLabel: "true"},
	}
}

func readyCondition(status metav1.ConditionStatus) []metav1.Condition {
	return []metav1.Condition{{
		Type: fluxmeta.ReadyCondition, Status: status, Reason: "Reason", Message: "message",
		ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(base),
	}}
}

func aKustomization(change ...func(*kustomizev1.Kustomization)) *kustomizev1.Kustomization {
	k := &kustomizev1.Kustomization{
		ObjectMeta: meta("app"),
		Spec: kustomizev1.KustomizationSpec{
			Interval:  metav1.Duration{Duration: 10 * time.Minute},
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"},
		},
	}
	for _, c := range change {
		c(k)
	}
	return k
}

func aGitRepository(change ...func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
	g := &sourcev1.GitRepository{
		ObjectMeta: meta("repo"),
		Spec: sourcev1.GitRepositorySpec{
			URL: testURL, Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
		Status: sourcev1.GitRepositoryStatus{
			ObservedGeneration: 3,
			Artifact:           &fluxmeta.Artifact{Revision: "main@sha1:" + commitA, LastUpdateTime: metav1.NewTime(base)},
		},
	}
	for _, c := range change {
		c(g)
	}
	return g
}

func pinnedAt(commit string) func(*sourcev1.GitRepository) {
	return func(g *sourcev1.GitRepository) {
		g.Spec.Reference.Commit = commit
		g.Annotations = map[string]string{
			wavefrontv1.OwnerAnnotation:        "fleet",
			wavefrontv1.PinnedCommitAnnotation: commit,
			wavefrontv1.ObservedRefAnnotation:  testRef,
			wavefrontv1.ObservedURLAnnotation:  testURL,
			wavefrontv1.AdmittedAtAnnotation:   base.Format(time.RFC3339),
		}
	}
}

func annotated(name, value string) func(*sourcev1.GitRepository) {
	return func(g *sourcev1.GitRepository) { g.Annotations[name] = value }
}

// aRelease takes its chart from the repository.
func aRelease(change ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{
		ObjectMeta: meta("web"),
		Spec: helmv2.HelmReleaseSpec{Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: "chart", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "GitRepository", Name: "repo"},
		}}},
	}
	hr.Labels = map[string]string{appliedByNameLabel: "app", appliedByNamespaceLabel: "apps"}
	for _, c := range change {
		c(hr)
	}
	return hr
}

func aChart(name string, change ...func(*sourcev1.HelmChart)) *sourcev1.HelmChart {
	c := &sourcev1.HelmChart{
		ObjectMeta: meta(name),
		Spec:       sourcev1.HelmChartSpec{SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "GitRepository", Name: "repo"}},
		Status: sourcev1.HelmChartStatus{
			ObservedGeneration: 3, ObservedSourceArtifactRevision: "main@sha1:" + commitA,
			Artifact: &fluxmeta.Artifact{Revision: "0.1.0+2f60"},
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func aWavefront(name string, change ...func(*wavefrontv1.Wavefront)) *wavefrontv1.Wavefront {
	w := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Spec.Nodes.Selector.MatchLabels = map[string]string{wavefrontv1.ManagedLabel: "true"}
	for _, c := range change {
		c(w)
	}
	return w
}
