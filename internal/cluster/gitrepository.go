// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// defaultSourceTimeout is what the API server sets where spec.timeout is empty.
const defaultSourceTimeout = 60 * time.Second

// managedValue is the value of the managed label that counts.
const managedValue = "true"

// Source returns what one GitRepository says of itself. Whose the pin is, when
// it became what it is and what was observed is left to the caller.
func Source(g *sourcev1.GitRepository) fleet.Source {
	ref, style := TrackingRef(g)
	pin := Pin(g)
	s := fleet.Source{
		ID:                 GitRepositoryID(g.Namespace, g.Name),
		UID:                string(g.UID),
		Managed:            IsManaged(g),
		URL:                g.Spec.URL,
		Ref:                ref,
		RefStyle:           style,
		Generation:         g.Generation,
		ObservedGeneration: g.Status.ObservedGeneration,
		Suspended:          g.Spec.Suspend,
		Ready:              ready(g.Status.Conditions),
		FetchFailed:        apimeta.IsStatusConditionTrue(g.Status.Conditions, sourcev1.FetchFailedCondition),
		Timeout:            defaultSourceTimeout,
		Pin:                pin,
		Owner:              g.Annotations[wavefrontv1.OwnerAnnotation],
	}
	if g.Spec.Timeout != nil {
		s.Timeout = g.Spec.Timeout.Duration
	}
	if a := g.Status.Artifact; a != nil {
		s.Artifact, s.ArtifactAt = Revision(a.Revision), a.LastUpdateTime.Time
	}
	s.Record, s.VoidRecord = Record(g)
	s.Initial = pin.Same(s.Record) && g.Annotations[wavefrontv1.PreviousPinAnnotation] == ""
	if s.Initial {
		s.PinnedAt = admittedAt(g)
	}
	s.Reconciled = pin.Same(s.Artifact) && g.Status.ObservedGeneration == g.Generation &&
		!apimeta.IsStatusConditionTrue(g.Status.Conditions, fluxmeta.StalledCondition)
	return s
}

// GitRepositoryID names a GitRepository.
func GitRepositoryID(namespace, name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: namespace, Name: name}
}

// IsManaged tells whether the object carries the label that allows the
// controller to pin it.
func IsManaged(g *sourcev1.GitRepository) bool {
	return g.Labels[wavefrontv1.ManagedLabel] == managedValue
}

// Pin returns spec.ref.commit; empty where there is none.
func Pin(g *sourcev1.GitRepository) fleet.Revision {
	if g.Spec.Reference == nil {
		return ""
	}
	return fleet.Commit(g.Spec.Reference.Commit)
}

// TrackingRef returns the full name of the reference that the source tracks, or
// how a style that is not sequenced is rendered (see fleet.TrackingRef).
func TrackingRef(g *sourcev1.GitRepository) (ref, style string) {
	r := g.Spec.Reference
	if r == nil {
		return fleet.TrackingRef("", "", "", "")
	}
	return fleet.TrackingRef(r.Name, r.Tag, r.SemVer, r.Branch)
}

// Record returns the recorded pin. It is void, and not returned, where it was
// made for another URL or another reference than the present ones: a commit of
// one branch says nothing about another.
func Record(g *sourcev1.GitRepository) (record fleet.Revision, void bool) {
	recorded := fleet.Commit(g.Annotations[wavefrontv1.PinnedCommitAnnotation])
	if recorded == "" {
		return "", false
	}
	ref, style := TrackingRef(g)
	if g.Annotations[wavefrontv1.ObservedRefAnnotation] != or(ref, style) ||
		g.Annotations[wavefrontv1.ObservedURLAnnotation] != fleet.PublicURL(g.Spec.URL) {
		return "", true
	}
	return recorded, false
}

// admittedAt is when the pin was written; zero where that can't be read.
func admittedAt(g *sourcev1.GitRepository) time.Time {
	at, err := time.Parse(time.RFC3339, g.Annotations[wavefrontv1.AdmittedAtAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}
