// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/hand"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// wavefrontRef names a Wavefront.
func wavefrontRef(obj *wavefrontv1.Wavefront) picture.Ref {
	return picture.Ref{Kind: wavefrontv1.WavefrontKind, Name: obj.Name}
}

// patchWavefront merges into the Wavefront, if it is still what the plan read.
func patchWavefront(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, patch map[string]any) error {
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = obj.UID, obj.ResourceVersion
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	err = c.Patch(ctx, obj.DeepCopy(), client.RawPatch(types.MergePatchType, data), client.FieldOwner(wavefrontv1.CLIFieldManager))
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w (%w)", hand.ErrChanged, err)
	}
	return err
}

// specStep changes one field of the Wavefront's spec. The controller writes the
// status all the time, which moves the version: the step reads the object again
// and is guarded by its spec.
func specStep(c client.Client, obj *wavefrontv1.Wavefront, field string, before, after any, say string) step {
	return step{
		object: wavefrontRef(obj), say: say, fatal: true,
		fields: []fieldChange{{"spec." + field, wavefrontv1.CLIFieldManager, fmt.Sprint(before), fmt.Sprint(after)}},
		write: func(ctx context.Context) error {
			return onSameSpec(ctx, c, obj, func(now *wavefrontv1.Wavefront) error {
				return patchWavefront(ctx, c, now, map[string]any{"spec": map[string]any{field: after}})
			})
		},
	}
}

// guardAttempts is how often a write is tried again where only the status moved.
const guardAttempts = 5

// onSameSpec runs write on the newest version of the object as long as its spec
// is the one that the plan read.
func onSameSpec(ctx context.Context, c client.Client, planned *wavefrontv1.Wavefront, write func(*wavefrontv1.Wavefront) error) error {
	var err error
	for range guardAttempts {
		now := &wavefrontv1.Wavefront{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(planned), now); err != nil {
			return err
		}
		if now.UID != planned.UID || now.Generation != planned.Generation {
			return hand.ErrChanged
		}
		if err = write(now); !errors.Is(err, hand.ErrChanged) {
			return err
		}
	}
	return err
}

// revertWarning warns where an applier of Git owns the field and will put it
// back.
func (p *program) revertWarning(obj *wavefrontv1.Wavefront, field string) []string {
	path := fieldpath.MakePathOrDie("spec", field)
	for _, m := range picture.Managers(obj.ManagedFields, path) {
		if slices.Contains(p.declarative, m) {
			return []string{fmt.Sprintf("%s owns spec.%s: it will put the value of Git back when it next reconciles; change it in Git as well", m, field)}
		}
	}
	return nil
}

// explainWrite adds what to do to refusals of the API server.
func explainWrite(err error) error {
	switch {
	case errors.Is(err, hand.ErrChanged):
		return err
	case apierrors.IsForbidden(err):
		return fmt.Errorf("not permitted; ask for the ClusterRole wavefront-wfctl-operator: %w", err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("another manager owns what was to be written: %w", err)
	case apierrors.ReasonForError(err) == metav1.StatusReasonInvalid:
		return fmt.Errorf("the API server refuses the value: %w", err)
	}
	return err
}
