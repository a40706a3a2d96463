// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Await watches one object until a condition on it holds, and returns the object as it
// was then.
func Await[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, key client.ObjectKey, condition func(T) bool) (T, error) {
	var last T
	err := watchEach(ctx, c, scope{list: list, namespace: key.Namespace, name: key.Name}, func(event watch.EventType, object client.Object) bool {
		current, ok := object.(T)
		if !ok || event == watch.Deleted {
			return false
		}
		last = current
		return condition(current)
	})
	if err != nil {
		return last, fmt.Errorf("failed to wait for %T %q: %w", last, key, err)
	}
	return last, nil
}

// AwaitKustomization waits for a condition on a node's Kustomization.
func (f *Fleet) AwaitKustomization(ctx context.Context, node string, condition func(*kustomizev1.Kustomization) bool) (*kustomizev1.Kustomization, error) {
	key := client.ObjectKey{Namespace: f.namespace, Name: node}
	return Await(ctx, f.env.Client(), &kustomizev1.KustomizationList{}, key, condition)
}

// AwaitSource waits for a condition on a GitRepository.
func (f *Fleet) AwaitSource(ctx context.Context, name string, condition func(*sourcev1.GitRepository) bool) (*sourcev1.GitRepository, error) {
	key := client.ObjectKey{Namespace: f.namespace, Name: name}
	return Await(ctx, f.env.Client(), &sourcev1.GitRepositoryList{}, key, condition)
}

// AwaitApplied waits until a node is ready at a commit.
func (f *Fleet) AwaitApplied(ctx context.Context, node, commit string) error {
	object, err := f.AwaitKustomization(ctx, node, func(k *kustomizev1.Kustomization) bool {
		return IsReady(k) && CommitOf(k.Status.LastAppliedRevision) == commit
	})
	if err != nil {
		return fmt.Errorf("%w (wanted ready at %s; applied %q, conditions %s)",
			err, commit, object.Status.LastAppliedRevision, describe(object))
	}
	return nil
}

// AwaitPinned waits until a source carries a commit as its pin.
func (f *Fleet) AwaitPinned(ctx context.Context, sourceName, commit string) error {
	object, err := f.AwaitSource(ctx, sourceName, func(s *sourcev1.GitRepository) bool { return PinOf(s) == commit })
	if err != nil {
		return fmt.Errorf("%w (wanted pin %s, has %q)", err, commit, PinOf(object))
	}
	return nil
}

// AwaitReady waits until all nodes are ready at the heads of their branches: a fleet
// without a Wavefront, or with nothing left to do.
func (f *Fleet) AwaitReady(ctx context.Context) error {
	for _, node := range f.Nodes() {
		s, err := f.source(node.Source)
		if err != nil {
			return err
		}
		head, err := s.repo.Head(ctx, s.branch)
		if err != nil {
			return err
		}
		if err := f.AwaitApplied(ctx, node.Name, head); err != nil {
			return err
		}
	}
	return nil
}

// IsReady tells whether a Kustomization is Ready, about its present generation.
func IsReady(k *kustomizev1.Kustomization) bool {
	return isReady(k.Status.Conditions, k.Generation)
}

func isReady(conditions []metav1.Condition, generation int64) bool {
	ready := apimeta.FindStatusCondition(conditions, fluxmeta.ReadyCondition)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == generation
}

// PinOf is the commit that a source is pinned at; empty when it floats.
func PinOf(s *sourcev1.GitRepository) string {
	if s == nil || s.Spec.Reference == nil {
		return ""
	}
	return s.Spec.Reference.Commit
}

// ArtifactOf is the commit of a source's artifact; empty without one.
func ArtifactOf(s *sourcev1.GitRepository) string {
	if s == nil || s.Status.Artifact == nil {
		return ""
	}
	return CommitOf(s.Status.Artifact.Revision)
}

// CommitOf is the hash in a revision such as "main@sha1:X"; empty when there is none.
func CommitOf(revision string) string {
	_, hash, found := strings.Cut(revision, "sha1:")
	if !found {
		return ""
	}
	return hash
}

func describe(k *kustomizev1.Kustomization) string {
	if k == nil {
		return "none"
	}
	var parts []string
	for _, condition := range k.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s (%s: %s)", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return strings.Join(parts, ", ")
}
