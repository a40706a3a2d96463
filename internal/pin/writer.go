// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Writer writes to sources. It is safe for concurrent use; two writes to one
// version of one source can't both succeed.
type Writer struct {
	// Client writes.
	Client client.Client
	// Live reads from the API server, past any cache.
	Live client.Reader
	// Lease returns an error unless the leader lease is provably ours at this
	// moment. It is asked immediately before each write.
	Lease func() error
	// Tracker learns of each write at once.
	Tracker *Tracker
	// Judge decides on reactions.
	Judge Judge
	// Now is the moment in the life of the process, Clock the time of day.
	Now   func() fleet.Instant
	Clock func() time.Time
}

// errDisputed says that an applier of Git renders an annotation of ours.
var errDisputed = errors.New("rendered by Git")

// apply makes the source as wanted, or fails with what the API server said. The
// version that it returns is known to the Tracker.
func (w *Writer) apply(ctx context.Context, g *sourcev1.GitRepository, want wanted) (*sourcev1.GitRepository, error) {
	ownership := OwnershipOf(g.ManagedFields)
	if want.met(g, ownership) {
		return g, nil
	}
	g, err := w.reclaim(ctx, g, ownership, want)
	if err != nil {
		return nil, err
	}
	if err := w.Lease(); err != nil {
		return nil, &leaseError{err}
	}
	u := want.configuration(g)
	err = w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wavefrontv1.FieldManager))
	if err != nil {
		return nil, err
	}
	written := &sourcev1.GitRepository{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, written); err != nil {
		return nil, fmt.Errorf("failed to read the applied object: %w", err)
	}
	w.Tracker.wrote(written)
	return written, nil
}

// reclaim removes annotations of ours that somebody else wrote or shares and that
// are not as wanted, so that an apply without force can set or drop them. It
// does not fight an applier of Git.
func (w *Writer) reclaim(ctx context.Context, g *sourcev1.GitRepository, o Ownership, want wanted) (*sourcev1.GitRepository, error) {
	names := want.disputed(g, o)
	if len(names) == 0 {
		return g, nil
	}
	drop := map[string]any{}
	for _, name := range names {
		for _, manager := range o.ForeignAnnotations[name] {
			if slices.Contains(w.Judge.Declarative, manager) {
				return nil, fmt.Errorf("metadata.annotations[%s] belongs to the controller: %w through %s", name, errDisputed, manager)
			}
		}
		drop[name] = nil
	}
	return w.dropAnnotations(ctx, g, drop)
}

// dropAnnotations removes annotations whoever owns them.
func (w *Writer) dropAnnotations(ctx context.Context, g *sourcev1.GitRepository, drop map[string]any) (*sourcev1.GitRepository, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": g.UID, "resourceVersion": g.ResourceVersion, "annotations": drop,
	}})
	if err != nil {
		return nil, err
	}
	if err := w.Lease(); err != nil {
		return nil, &leaseError{err}
	}
	written := g.DeepCopy()
	err = w.Client.Patch(ctx, written, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(wavefrontv1.FieldManager))
	if err != nil {
		return nil, err
	}
	w.Tracker.wrote(written)
	return written, nil
}

// leaseError marks a write that was not sent.
type leaseError struct{ error }

func (e *leaseError) Unwrap() error { return e.error }

// write applies and says what became of it.
func (w *Writer) write(ctx context.Context, r Result, g *sourcev1.GitRepository, want wanted) Result {
	r.From = pinOf(g)
	written, err := w.apply(ctx, g, want)
	if err != nil {
		return w.fail(r, g, fmt.Errorf("failed to apply GitRepository %q: %w", client.ObjectKeyFromObject(g), err))
	}
	w.Tracker.succeeded(g)
	r.Object, r.To, r.Outcome = written, pinOf(written), Written
	if written.ResourceVersion == g.ResourceVersion {
		r.Outcome = Idle
	}
	return r
}

// fail turns an error into an outcome. Only what needs somebody's help counts as
// a failure.
func (w *Writer) fail(r Result, g *sourcev1.GitRepository, err error) Result {
	r.Object, r.To = g, pinOf(g)
	lease := &leaseError{}
	switch {
	case errors.As(err, &lease):
		r.Outcome, r.Err = NotLeader, err
	case isOwnershipConflict(err):
		r.Outcome = Held
		if r.Manager == "" {
			r.Manager = foreignOf(g)
		}
	case apierrors.IsConflict(err):
		r.Outcome = Stale
	case apierrors.IsNotFound(err):
		r.Outcome = Gone
	case w.Lease() != nil:
		// It ran out on the way: nobody's failure.
		r.Outcome, r.Err = NotLeader, err
	default:
		r.Outcome, r.Err = Failed, err
		if !errors.Is(err, context.Canceled) {
			w.Tracker.failed(g)
		}
	}
	return r
}

// isOwnershipConflict tells a conflict of field managers from one of versions.
func isOwnershipConflict(err error) bool {
	status := &apierrors.StatusError{}
	if !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeFieldManagerConflict
	})
}

// foreignOf names a foreign manager of the commit.
func foreignOf(g *sourcev1.GitRepository) string {
	if managers := OwnershipOf(g.ManagedFields).Managers(); len(managers) > 0 {
		return managers[0]
	}
	return UnknownManager
}

func sourceID(g *sourcev1.GitRepository) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: g.Namespace, Name: g.Name}
}

// at renders a moment for the annotation admitted-at.
func (w *Writer) at() string { return w.Clock().UTC().Format(time.RFC3339) }
