// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

func (p *program) reconcileCommand() *cobra.Command {
	var flags writeFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Have every reference listed and the fleet evaluated now, and wait for it",
		Long: `Request a sweep: the controller lists the references of all sources at once and evaluates
the fleet. Waits until that has been handled.`,
		Example: `  wfctl reconcile --yes`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.planned(cmd.Context(), &flags, p.planReconcile(timeout))
		},
	}
	flags.addTo(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "How long to wait for the sweep")
	return cmd
}

func (p *program) planReconcile(timeout time.Duration) planner {
	return func(_ context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		token := p.now().UTC().Format(time.RFC3339Nano)
		pl := &plan{title: "reconcile Wavefront " + obj.Name, reason: reasonReconcile, action: "Reconcile"}
		pl.steps = []step{{
			object: wavefrontRef(obj), say: "a sweep was requested and handled",
			fields: []fieldChange{{"metadata.annotations[" + fluxmeta.ReconcileRequestAnnotation + "]", wavefrontv1.CLIFieldManager,
				obj.Annotations[fluxmeta.ReconcileRequestAnnotation], token}},
			write: func(ctx context.Context) error {
				err := onSameSpec(ctx, c, obj, func(now *wavefrontv1.Wavefront) error {
					return patchWavefront(ctx, c, now, map[string]any{"metadata": map[string]any{
						"annotations": map[string]any{fluxmeta.ReconcileRequestAnnotation: token},
					}})
				})
				if err != nil {
					return err
				}
				return p.awaitHandled(ctx, c, obj.Name, token, timeout)
			},
		}}
		if obj.Spec.Suspend {
			pl.notes = append(pl.notes, "the Wavefront is suspended: references are listed, nothing moves")
		}
		return pl, nil
	}
}

// awaitHandled waits until the controller has handled the request. It reads at
// each look instead of trusting a watch: the controller may be restarting.
func (p *program) awaitHandled(ctx context.Context, c client.Client, name, token string, timeout time.Duration) error {
	p.waiting("waiting for the controller to handle the request")
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		obj := &wavefrontv1.Wavefront{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, obj); err == nil && obj.Status.LastHandledReconcileAt == token {
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the request was recorded, but not handled within %s: is the controller running? (kubectl -n flux-system logs deploy/wavefront-controller)", timeout)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// lookEvery is the pause between two looks while waiting.
const lookEvery = 500 * time.Millisecond
