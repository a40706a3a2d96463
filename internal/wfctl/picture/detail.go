// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// AddDetails reads the GitRepositories and adds what they say to the sources.
// Where they can't be read the picture keeps the reason, and stays usable.
func (p *Picture) AddDetails(ctx context.Context, c client.Reader) {
	list := &sourcev1.GitRepositoryList{}
	if err := c.List(ctx, list); err != nil {
		p.SourcesUnread = escape.Text(err.Error())
		return
	}
	objects := make([]*sourcev1.GitRepository, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	p.addDetails(objects)
}

func (p *Picture) addDetails(objects []*sourcev1.GitRepository) {
	found := make(map[string]*sourcev1.GitRepository, len(objects))
	for _, o := range objects {
		found[o.Namespace+"/"+o.Name] = o
	}
	for i := range p.Sources {
		if o := found[p.Sources[i].Path()]; o != nil {
			p.Sources[i].Detail = DetailOf(o)
		}
	}
}

// DetailOf returns what one GitRepository says of itself, without anything that
// may be secret.
func DetailOf(o *sourcev1.GitRepository) *Detail {
	d := &Detail{
		URL: escape.URL(o.Spec.URL), Tracks: tracks(o),
		Managed: cluster.IsManaged(o), Suspended: o.Spec.Suspend, Interval: o.Spec.Interval,
		Commit: string(cluster.Pin(o)), Owners: OwnersOf(o),
		OwnedBy:     o.Annotations[wavefrontv1.OwnerAnnotation],
		Record:      o.Annotations[wavefrontv1.PinnedCommitAnnotation],
		PreviousPin: o.Annotations[wavefrontv1.PreviousPinAnnotation],
		ObservedRef: o.Annotations[wavefrontv1.ObservedRefAnnotation],
		ObservedURL: escape.URL(o.Annotations[wavefrontv1.ObservedURLAnnotation]),
		AdmittedAt:  o.Annotations[wavefrontv1.AdmittedAtAnnotation],
		HeldBy:      o.Annotations[wavefrontv1.HeldByAnnotation],
		ForcedBy:    escape.Text(o.Annotations[wavefrontv1.ForcedByAnnotation]),
		Conditions:  conditionsOf(o.Status.Conditions),
	}
	if a := o.Status.Artifact; a != nil {
		d.Artifact = a.Revision
		at := a.LastUpdateTime
		d.ArtifactTime = &at
	}
	return d
}

func tracks(o *sourcev1.GitRepository) string {
	ref, style := cluster.TrackingRef(o)
	if ref == "" {
		return style
	}
	return ref
}

// OwnersOf returns the field managers of spec.ref.commit, sorted.
func OwnersOf(o *sourcev1.GitRepository) []string {
	ownership := pin.OwnershipOf(o.ManagedFields)
	owners := ownership.Managers()
	if ownership.Ours {
		owners = append(owners, wavefrontv1.FieldManager)
	}
	slices.Sort(owners)
	return owners
}

// Managers returns the field managers that own the path, sorted. An entry that
// can't be parsed owns nothing.
func Managers(entries []metav1.ManagedFieldsEntry, path fieldpath.Path) []string {
	var managers []string
	for _, e := range entries {
		if e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err == nil && set.Has(path) {
			managers = append(managers, e.Manager)
		}
	}
	slices.Sort(managers)
	return slices.Compact(managers)
}
