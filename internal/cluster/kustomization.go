// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// historyRevisionKey is where kustomize-controller puts the source revision in
// the metadata of a history entry.
const historyRevisionKey = "revision"

// Node returns what the cluster says of one Kustomization. SelectedBy is left to
// the caller, who knows the Wavefronts. With noCrossNamespaceRefs a source in
// another namespace is refused, as kustomize-controller refuses it; it waits for
// dependencies in other namespaces all the same, so those stay edges.
func Node(k *kustomizev1.Kustomization, noCrossNamespaceRefs bool) fleet.Node {
	n := fleet.Node{
		ID:                 KustomizationID(k.Namespace, k.Name),
		UID:                string(k.UID),
		DependsOn:          dependencies(k),
		Generation:         k.Generation,
		ObservedGeneration: k.Status.ObservedGeneration,
		Suspended:          k.Spec.Suspend,
		Ready:              ready(k.Status.Conditions),
		Last:               lastReconciliation(k),
		LastApplied:        Revision(k.Status.LastAppliedRevision),
		LastAttempted:      Revision(k.Status.LastAttemptedRevision),
		Timeout:            k.GetTimeout(),
	}
	source, refused := sourceOf(k, noCrossNamespaceRefs)
	switch {
	case refused:
		n.Refused = []fleet.ID{source}
		n.OtherSource = source.String()
	case source.Kind == fleet.KindGitRepository:
		n.Source = source
	default:
		n.OtherSource = source.String()
	}
	return n
}

// KustomizationID names a Kustomization.
func KustomizationID(namespace, name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindKustomization, Namespace: namespace, Name: name}
}

// sourceOf returns what a Kustomization names as its source, and whether
// kustomize-controller refuses that for its namespace.
func sourceOf(k *kustomizev1.Kustomization, noCrossNamespaceRefs bool) (source fleet.ID, refused bool) {
	ref := k.Spec.SourceRef
	source = fleet.ID{Kind: ref.Kind, Namespace: bounded(or(ref.Namespace, k.Namespace)), Name: bounded(ref.Name)}
	return source, noCrossNamespaceRefs && source.Namespace != k.Namespace
}

func dependencies(k *kustomizev1.Kustomization) []fleet.ID {
	if len(k.Spec.DependsOn) == 0 {
		return nil
	}
	ids := make([]fleet.ID, 0, len(k.Spec.DependsOn))
	for _, d := range k.Spec.DependsOn {
		ids = append(ids, KustomizationID(bounded(or(d.Namespace, k.Namespace)), bounded(d.Name)))
	}
	return ids
}

func lastReconciliation(k *kustomizev1.Kustomization) *fleet.Reconciliation {
	latest := k.Status.History.Latest()
	if latest == nil {
		return nil
	}
	return &fleet.Reconciliation{
		Succeeded: latest.LastReconciledStatus == fluxmeta.ReconciliationSucceededReason,
		Revision:  Revision(latest.Metadata[historyRevisionKey]),
		At:        latest.LastReconciled.Time,
	}
}

// bounded cuts a name that no object can have for its length. Flux does not bound
// what a reference says, and all of it would end up in the status of the Wavefront,
// which must not become too large to be written.
func bounded(name string) string {
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	return strings.ToValidUTF8(name[:validation.DNS1123SubdomainMaxLength], "") + "…"
}

// or returns the value, or the default where it is empty.
func or(value, def string) string {
	if value == "" {
		return def
	}
	return value
}
