// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package hand

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/pin"
)

// attempts is how often a write is tried where only the status moved.
const attempts = 5

// guard writes g as long as it is what the plan had read. source-controller
// writes the status all the time, which moves the version and changes nothing
// that a plan speaks of: the write is then tried on the newer version.
func (w Writer) guard(ctx context.Context, g *sourcev1.GitRepository,
	write func(*sourcev1.GitRepository) (*sourcev1.GitRepository, error)) (*sourcev1.GitRepository, error) {
	for range attempts {
		written, err := write(g)
		// An apply of an older version may fail for the new owner of the field
		// before it fails for its version.
		if !errors.Is(err, ErrChanged) && !apierrors.IsConflict(err) {
			return written, err
		}
		now := &sourcev1.GitRepository{}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(g), now); err != nil {
			return nil, fmt.Errorf("failed to read it again: %w", err)
		}
		switch {
		case !same(g, now) && errors.Is(err, ErrChanged):
			return nil, err
		case !same(g, now):
			return nil, fmt.Errorf("%w (%w)", ErrChanged, err)
		case !errors.Is(err, ErrChanged):
			return nil, err
		}
		g = now
	}
	return nil, ErrChanged
}

// same tells whether two versions agree in everything that a plan reads: the
// spec, the annotations of the pin, and who owns it.
func same(a, b *sourcev1.GitRepository) bool {
	if a.UID != b.UID || a.Generation != b.Generation || a.DeletionTimestamp.IsZero() != b.DeletionTimestamp.IsZero() {
		return false
	}
	for _, name := range Annotations {
		if a.Annotations[name] != b.Annotations[name] {
			return false
		}
	}
	before, after := pin.OwnershipOf(a.ManagedFields), pin.OwnershipOf(b.ManagedFields)
	return before.Ours == after.Ours && slices.Equal(before.Managers(), after.Managers())
}
