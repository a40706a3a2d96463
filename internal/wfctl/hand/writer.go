// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package hand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
)

// ErrChanged says that an object is not what the plan had read any more. Nothing
// was written.
var ErrChanged = errors.New("it changed since the plan was made; nothing was written, look again")

// Annotations are all annotations that a pin is written with.
var Annotations = []string{
	wavefrontv1.OwnerAnnotation, wavefrontv1.PinnedCommitAnnotation, wavefrontv1.PreviousPinAnnotation,
	wavefrontv1.ObservedRefAnnotation, wavefrontv1.ObservedURLAnnotation, wavefrontv1.AdmittedAtAnnotation,
	wavefrontv1.HeldByAnnotation, wavefrontv1.ForcedByAnnotation,
}

// Writer writes sources.
type Writer struct {
	Client client.Client
	// Now is the time of day, for the annotations.
	Now func() time.Time
}

// Pin fixes the commit under the manager wfctl. It takes the field over from
// whoever owns it: the plan has said from whom.
func (w Writer) Pin(ctx context.Context, g *sourcev1.GitRepository, commit string) (*sourcev1.GitRepository, error) {
	return w.guard(ctx, g, func(g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
		return w.apply(ctx, configuration(g, commit, nil), client.FieldOwner(wavefrontv1.CLIFieldManager), client.ForceOwnership)
	})
}

// Release ends a hold at the present value. First the controller's claim is made
// to stand beside the holder's, then the holder's goes, and only then the hold:
// at no moment does nobody claim the value, so it never drops. Owner is the
// Wavefront that the source is given back to.
func (w Writer) Release(ctx context.Context, g *sourcev1.GitRepository, owner string) (*sourcev1.GitRepository, error) {
	want := w.provenance(g, owner)
	held := map[string]string{}
	for name, value := range want {
		held[name] = value
	}
	if held[wavefrontv1.HeldByAnnotation] = g.Annotations[wavefrontv1.HeldByAnnotation]; held[wavefrontv1.HeldByAnnotation] == "" {
		held[wavefrontv1.HeldByAnnotation] = pin.HeldBy(holder(g), w.Now())
	}
	g, err := w.dropDisputed(ctx, g, held)
	if err != nil {
		return nil, err
	}
	if g, err = w.claim(ctx, g, commitOf(g), held); err != nil {
		return nil, err
	}
	if g, err = w.dropForeign(ctx, g); err != nil {
		return nil, err
	}
	return w.claim(ctx, g, commitOf(g), want)
}

// ForceAdmit advances the pin to a commit, past the gate, under the controller's
// manager and with provenance that says who did.
func (w Writer) ForceAdmit(ctx context.Context, g *sourcev1.GitRepository, owner, commit, by string) (*sourcev1.GitRepository, error) {
	want := w.provenance(g, owner)
	want[wavefrontv1.PreviousPinAnnotation] = string(cluster.Pin(g))
	want[wavefrontv1.PinnedCommitAnnotation] = commit
	want[wavefrontv1.AdmittedAtAnnotation] = w.at()
	want[wavefrontv1.ForcedByAnnotation] = by
	g, err := w.dropDisputed(ctx, g, want)
	if err != nil {
		return nil, err
	}
	return w.claim(ctx, g, commit, want)
}

// Float removes the commit and everything that is recorded of it, so that the
// source follows its branch again.
func (w Writer) Float(ctx context.Context, g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
	drop := map[string]any{}
	for _, name := range Annotations {
		if _, ok := g.Annotations[name]; ok {
			drop[name] = nil
		}
	}
	return w.merge(ctx, g, map[string]any{
		"metadata": map[string]any{"annotations": drop},
		"spec":     map[string]any{"ref": map[string]any{"commit": nil}},
	})
}

// LetGo removes the owner annotation and leaves the commit where it is.
func (w Writer) LetGo(ctx context.Context, g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
	return w.merge(ctx, g, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{wavefrontv1.OwnerAnnotation: nil}},
	})
}

// provenance are the annotations of the source at its present commit, as the
// controller would write them, without a hold.
func (w Writer) provenance(g *sourcev1.GitRepository, owner string) map[string]string {
	ref, style := cluster.TrackingRef(g)
	if ref == "" {
		ref = style
	}
	want := map[string]string{}
	for _, name := range Annotations {
		if value := g.Annotations[name]; value != "" {
			want[name] = value
		}
	}
	delete(want, wavefrontv1.HeldByAnnotation)
	commit := string(cluster.Pin(g))
	if record := fleet.Commit(want[wavefrontv1.PinnedCommitAnnotation]); !record.Same(cluster.Pin(g)) || want[wavefrontv1.AdmittedAtAnnotation] == "" {
		if record != "" {
			want[wavefrontv1.PreviousPinAnnotation] = string(record)
		}
		want[wavefrontv1.AdmittedAtAnnotation] = w.at()
		delete(want, wavefrontv1.ForcedByAnnotation)
	}
	want[wavefrontv1.PinnedCommitAnnotation] = commit
	want[wavefrontv1.OwnerAnnotation] = owner
	want[wavefrontv1.ObservedRefAnnotation] = ref
	want[wavefrontv1.ObservedURLAnnotation] = fleet.PublicURL(g.Spec.URL)
	return want
}

// claim applies commit and annotations under the controller's manager, without
// force.
func (w Writer) claim(ctx context.Context, g *sourcev1.GitRepository, commit string, want map[string]string) (*sourcev1.GitRepository, error) {
	return w.guard(ctx, g, func(g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
		return w.apply(ctx, configuration(g, commit, want), client.FieldOwner(wavefrontv1.FieldManager))
	})
}

func (w Writer) apply(ctx context.Context, u *unstructured.Unstructured, opts ...client.ApplyOption) (*sourcev1.GitRepository, error) {
	if err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
		return nil, guarded(err)
	}
	written := &sourcev1.GitRepository{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, written); err != nil {
		return nil, fmt.Errorf("failed to read the applied object: %w", err)
	}
	return written, nil
}

// merge patches under the manager wfctl.
func (w Writer) merge(ctx context.Context, g *sourcev1.GitRepository, patch map[string]any) (*sourcev1.GitRepository, error) {
	return w.guard(ctx, g, func(g *sourcev1.GitRepository) (*sourcev1.GitRepository, error) {
		return w.mergeOnce(ctx, g, patch)
	})
}

func (w Writer) mergeOnce(ctx context.Context, g *sourcev1.GitRepository, patch map[string]any) (*sourcev1.GitRepository, error) {
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = g.UID, g.ResourceVersion
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	written := g.DeepCopy()
	if err := w.Client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data), client.FieldOwner(wavefrontv1.CLIFieldManager)); err != nil {
		return nil, guarded(err)
	}
	return written, nil
}

// guarded turns a conflict of versions into ErrChanged. A conflict of managers
// stays what it is: it names them.
func guarded(err error) error {
	status := &apierrors.StatusError{}
	if !apierrors.IsConflict(err) || !errors.As(err, &status) {
		return err
	}
	if d := status.ErrStatus.Details; d != nil {
		for _, c := range d.Causes {
			if c.Type == metav1.CauseTypeFieldManagerConflict {
				return err
			}
		}
	}
	return fmt.Errorf("%w (%w)", ErrChanged, err)
}

// configuration is an apply configuration of this version of this object.
func configuration(g *sourcev1.GitRepository, commit string, annotations map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind))
	u.SetNamespace(g.Namespace)
	u.SetName(g.Name)
	u.SetUID(g.UID)
	u.SetResourceVersion(g.ResourceVersion)
	if len(annotations) > 0 {
		u.SetAnnotations(annotations)
	}
	u.Object["spec"] = map[string]any{"ref": map[string]any{"commit": commit}}
	return u
}

// commitOf returns spec.ref.commit letter by letter: sharing a claim must not
// change the value.
func commitOf(g *sourcev1.GitRepository) string {
	if g.Spec.Reference == nil {
		return ""
	}
	return g.Spec.Reference.Commit
}

func holder(g *sourcev1.GitRepository) string {
	if managers := pin.OwnershipOf(g.ManagedFields).Managers(); len(managers) > 0 {
		return managers[0]
	}
	return pin.UnknownManager
}

func (w Writer) at() string { return w.Now().UTC().Format(time.RFC3339) }
