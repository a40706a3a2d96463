// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// releaseAttempts is how often a release reads the newest version and tries
// again where somebody else wrote in between.
const releaseAttempts = 5

// Owned returns the sources that a Wavefront owns: those that name it in the
// owner annotation, and no others. There is no ledger to lose.
func Owned(sources []*sourcev1.GitRepository, wavefront string) []*sourcev1.GitRepository {
	var owned []*sourcev1.GitRepository
	for _, g := range sources {
		if g.Annotations[wavefrontv1.OwnerAnnotation] == wavefront {
			owned = append(owned, g)
		}
	}
	return owned
}

// ReleaseAll lets go of everything that a Wavefront owns, as the API server knows
// it now. HandOver returns the name of another Wavefront in Enforce that has the
// source in scope, or nothing. One source that can't be released holds up no
// other; its result says why. The error is that of the list. Where the kind
// itself is gone there is nothing to release.
func (w *Writer) ReleaseAll(ctx context.Context, wavefront string, policy wavefrontv1.ReleasePolicy,
	handOver func(*sourcev1.GitRepository) string) ([]Result, error) {
	list := &sourcev1.GitRepositoryList{}
	if err := w.Live.List(ctx, list); err != nil {
		if isAbsent(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("failed to list GitRepositories: %w", err)
	}
	var results []Result
	for i := range list.Items {
		g := &list.Items[i]
		if g.Annotations[wavefrontv1.OwnerAnnotation] == wavefront {
			results = append(results, w.Release(ctx, g, wavefront, policy, handOver(g)))
		}
	}
	return results, nil
}

// Leave lets go of one source that has left the scope, in the very version that was
// judged: one that has changed since may be in scope again, so the result is Stale
// and the next pass judges anew. Before it writes, it reads the Wavefront live: one
// that doesn't enforce any more keeps what it owns (Suspended).
func (w *Writer) Leave(ctx context.Context, g *sourcev1.GitRepository, wavefront string,
	policy wavefrontv1.ReleasePolicy, to string) Result {
	r, want := planRelease(g, wavefront, policy, to)
	if r.Action == "" {
		return r
	}
	if suspended, err := w.suspended(ctx, wavefront, nil); err != nil {
		return w.fail(r, g, err)
	} else if suspended {
		r.Outcome = Suspended
		return r
	}
	return w.release(ctx, r, g, want)
}

// Release lets go of one source of a Wavefront that goes: it hands it over to another
// Wavefront where one is named, else it keeps or drops the commit as the policy says.
// What is held by hand, or owned by another manager too, stays in place (Result.Kept).
// A source that is not the Wavefront's any more, or not there, is released.
func (w *Writer) Release(ctx context.Context, g *sourcev1.GitRepository, wavefront string,
	policy wavefrontv1.ReleasePolicy, to string) Result {
	var r Result
	for range releaseAttempts {
		var want wanted
		if r, want = planRelease(g, wavefront, policy, to); r.Action == "" {
			return r
		}
		if r = w.release(ctx, r, g, want); r.Outcome != Stale {
			return r
		}
		fresh := &sourcev1.GitRepository{}
		if err := w.Live.Get(ctx, client.ObjectKeyFromObject(g), fresh); err != nil {
			if isAbsent(err) {
				r.Outcome = Gone
				return r
			}
			return w.fail(r, g, fmt.Errorf("failed to read GitRepository %q: %w", client.ObjectKeyFromObject(g), err))
		}
		if fresh.UID != g.UID {
			r.Outcome = Gone
			return r
		}
		g = fresh
	}
	return r
}

// planRelease says what a release does to a source; nothing (no Action) to one that
// is not the Wavefront's.
func planRelease(g *sourcev1.GitRepository, wavefront string,
	policy wavefrontv1.ReleasePolicy, to string) (Result, wanted) {
	r := Result{Source: sourceID(g), Outcome: Idle, From: pinOf(g), To: pinOf(g), Object: g}
	if g.Annotations[wavefrontv1.OwnerAnnotation] != wavefront {
		return r, wanted{}
	}
	want := keep(g, OwnershipOf(g.ManagedFields))
	held := g.Annotations[wavefrontv1.HeldByAnnotation] != "" && recordOf(g).Same(pinOf(g))
	switch {
	case to != "":
		r.Action = ActionHandOver
		want.set(wavefrontv1.OwnerAnnotation, to)
	case policy == wavefrontv1.ReleaseFloat && !held:
		r.Action = ActionFloat
		want = wanted{}
	default:
		r.Action = ActionKeep
		r.Kept = policy == wavefrontv1.ReleaseFloat
		want.set(wavefrontv1.OwnerAnnotation, "")
	}
	return r, want
}

// release carries a plan out. What another manager owns too stays in place.
func (w *Writer) release(ctx context.Context, r Result, g *sourcev1.GitRepository, want wanted) Result {
	r = w.write(ctx, r, g, want)
	if r.Outcome == Written && r.Action == ActionFloat && r.To != "" {
		r.Kept, r.Manager = true, foreignOf(r.Object)
	}
	return r
}

// isAbsent tells whether an object, or its whole kind, does not exist.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) }
