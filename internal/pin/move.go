// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

// CommitError says that a revision is not the full hash of a commit, so it can't
// be pinned.
type CommitError struct {
	// Source that was to be pinned.
	Source fleet.ID
	// Revision that can't be pinned.
	Revision fleet.Revision
}

// Error names the source and the revision.
func (e *CommitError) Error() string {
	return fmt.Sprintf("can't pin %s: spec.ref.commit must be a full SHA-1 hash, not %q", e.Source, string(e.Revision))
}

// sha1Length is the length of a full hash; Flux's git has no other.
const sha1Length = 40

// Move carries one move out: an initial pin, a restored record or an admission.
// The object is the very version that was evaluated, and owner the Wavefront
// that moves it. Before it writes, it reads the Wavefront and the selected nodes of
// the source live: a suspension set a moment ago is honoured. (A suspension of the
// source itself changes its resourceVersion, so the write is refused as Stale.)
func (w *Writer) Move(ctx context.Context, m fleet.Move, evaluated *sourcev1.GitRepository, owner string) Result {
	r := Result{
		Source: m.Source, Action: Action(m.Kind), Outcome: Stale,
		From: m.From, To: m.From, Object: evaluated,
	}
	if !isCommit(m.To) {
		r.Outcome, r.Err = Failed, &CommitError{Source: m.Source, Revision: m.To}
		w.Tracker.failed(evaluated)
		return r
	}
	seen := w.Tracker.Seen(evaluated)
	if !w.Tracker.isNewest(evaluated) || pinOf(evaluated) != m.From || seen.Vanished != nil {
		return r
	}
	if managers := seen.Ownership.Managers(); len(managers) > 0 {
		r.Outcome, r.Manager = Held, managers[0]
		return r
	}
	nodes := m.Nodes
	if m.Kind == fleet.Restore {
		nodes = nil // a pin is put back whatever is suspended
	}
	if suspended, err := w.suspended(ctx, owner, nodes); err != nil {
		return w.fail(r, evaluated, err)
	} else if suspended {
		r.Outcome = Suspended
		return r
	}
	return w.write(ctx, r, evaluated, w.move(m, evaluated, owner))
}

// move renders what a move wants of a source.
func (w *Writer) move(m fleet.Move, g *sourcev1.GitRepository, owner string) wanted {
	want := keep(g, Ownership{})
	want.commit = string(m.To)
	want.record(g, m.To)
	want.set(wavefrontv1.OwnerAnnotation, owner)
	want.set(wavefrontv1.AdmittedAtAnnotation, w.at())
	want.set(wavefrontv1.HeldByAnnotation, "")
	want.set(wavefrontv1.ForcedByAnnotation, "")
	switch m.Kind {
	case fleet.Initial:
		want.set(wavefrontv1.PreviousPinAnnotation, "")
	case fleet.Advance:
		want.set(wavefrontv1.PreviousPinAnnotation, string(m.From))
	case fleet.Restore:
	}
	return want
}

// suspended reads live and tells whether the Wavefront does not enforce any more, or
// one of the nodes is suspended. A Wavefront that is gone enforces nothing; a node
// that is gone suspends nothing.
func (w *Writer) suspended(ctx context.Context, owner string, nodes []fleet.ID) (bool, error) {
	wf := &wavefrontv1.Wavefront{}
	err := w.Live.Get(ctx, types.NamespacedName{Name: owner}, wf)
	if err != nil && !isAbsent(err) {
		return false, fmt.Errorf("failed to read Wavefront %q: %w", owner, err)
	}
	if err != nil || wf.Spec.Suspend || wf.GetMode() != wavefrontv1.ModeEnforce || !wf.DeletionTimestamp.IsZero() {
		return true, nil
	}
	for _, n := range nodes {
		k := &kustomizev1.Kustomization{}
		err := w.Live.Get(ctx, types.NamespacedName{Namespace: n.Namespace, Name: n.Name}, k)
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("failed to read %s: %w", n, err)
		}
		if k.Spec.Suspend {
			return true, nil
		}
	}
	return false, nil
}

// isCommit tells whether a revision is a full hash of a commit.
func isCommit(r fleet.Revision) bool {
	_, err := hex.DecodeString(string(r))
	return err == nil && len(r) == sha1Length
}
