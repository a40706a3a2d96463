// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// Node is a Kustomization to make, with its source. Only Name is needed.
type Node struct {
	// Name is the Kustomization's.
	Name string
	// Source is the GitRepository's name, and the repository's; default Name. Nodes
	// with the same source share it: a monorepo, with a folder for each node. What is
	// said about the source counts on the first node that has it.
	Source string
	// DependsOn are names of nodes, or namespace/name.
	DependsOn []string
	// Gate leaves the managed label away, on the node and on the source that is made
	// for it.
	Gate bool
	// Chart has the node deploy a HelmRelease too, named like the node, whose chart is
	// in the same repository. It needs a Helm to become ready.
	Chart bool
	// First is what the first commit releases.
	First Release

	// Branch is what the source tracks; default main.
	Branch string
	// ByName has the source track spec.ref.name: refs/heads/<Branch> rather than
	// spec.ref.branch.
	ByName bool
	// SourceInterval is the GitRepository's spec.interval; default 10m: a moved pin
	// reconciles at once anyway.
	SourceInterval time.Duration
	// Interval is the Kustomization's; default 10m.
	Interval time.Duration
	// RetryInterval is the Kustomization's, after a failure; default 2s.
	RetryInterval time.Duration
	// Timeout is the Kustomization's: how long its workload may take; default 1m.
	Timeout time.Duration

	// MutateSource and Mutate change the objects before they are made.
	MutateSource func(*sourcev1.GitRepository)
	Mutate       func(*kustomizev1.Kustomization)
}

func (n Node) withDefaults() Node {
	setDefault(&n.Source, n.Name)
	setDefault(&n.Branch, "main")
	setDefault(&n.SourceInterval, 10*time.Minute)
	setDefault(&n.Interval, 10*time.Minute)
	setDefault(&n.RetryInterval, 2*time.Second)
	setDefault(&n.Timeout, time.Minute)
	return n
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// folder is the node's place in its repository.
func (n Node) folder() string { return n.Name }

func (n Node) labels(namespace string) map[string]string {
	labels := map[string]string{Label: namespace}
	if !n.Gate {
		labels[wavefrontv1.ManagedLabel] = "true"
	}
	return labels
}

func (n Node) gitRepository(namespace, url string) *sourcev1.GitRepository {
	object := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: n.Source, Labels: n.labels(namespace)},
		Spec: sourcev1.GitRepositorySpec{
			URL:       url,
			Interval:  metav1.Duration{Duration: n.SourceInterval},
			Reference: &sourcev1.GitRepositoryRef{Branch: n.Branch},
		},
	}
	if n.ByName {
		object.Spec.Reference = &sourcev1.GitRepositoryRef{Name: "refs/heads/" + n.Branch}
	}
	if n.MutateSource != nil {
		n.MutateSource(object)
	}
	return object
}

func (n Node) kustomization(namespace string) *kustomizev1.Kustomization {
	object := &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: n.Name, Labels: n.labels(namespace)},
		Spec: kustomizev1.KustomizationSpec{
			SourceRef:     kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: n.Source},
			Path:          "./" + n.folder(),
			Interval:      metav1.Duration{Duration: n.Interval},
			RetryInterval: &metav1.Duration{Duration: n.RetryInterval},
			Timeout:       &metav1.Duration{Duration: n.Timeout},
			Prune:         true,
			Wait:          true,
		},
	}
	for _, name := range n.DependsOn {
		object.Spec.DependsOn = append(object.Spec.DependsOn, dependency(name))
	}
	if n.Mutate != nil {
		n.Mutate(object)
	}
	return object
}

func dependency(name string) kustomizev1.DependencyReference {
	if namespace, name, found := strings.Cut(name, "/"); found {
		return kustomizev1.DependencyReference{Namespace: namespace, Name: name}
	}
	return kustomizev1.DependencyReference{Name: name}
}
