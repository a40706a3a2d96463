// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

func (p *program) modeCommand() *cobra.Command {
	var flags writeFlags
	modes := []string{string(wavefrontv1.ModeShadow), string(wavefrontv1.ModeEnforce)}
	cmd := &cobra.Command{
		Use:   "mode Shadow|Enforce",
		Short: "Switch between announcing moves and making them",
		Long: `Set spec.mode. Shadow writes nothing but the Wavefront itself; Enforce pins each managed
source where it is and advances the pins in order. Switching back to Shadow leaves the
pins where they are.`,
		Example:   `  wfctl mode Enforce --reason "change 42"`,
		Args:      exactName("mode (Shadow or Enforce)"),
		ValidArgs: modes,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, m := range modes {
				if strings.EqualFold(m, args[0]) {
					return p.planned(cmd.Context(), &flags, p.planMode(wavefrontv1.Mode(m)))
				}
			}
			return fmt.Errorf("failed to read the mode: %q is none of %s", args[0], strings.Join(modes, ", "))
		},
	}
	flags.addTo(cmd)
	return cmd
}

func (p *program) planMode(mode wavefrontv1.Mode) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		pl := &plan{
			title: fmt.Sprintf("switch Wavefront %s to %s", obj.Name, mode), reason: reasonModeChanged, action: "SetMode",
		}
		if obj.GetMode() == mode {
			pl.notes = append(pl.notes, fmt.Sprintf("Wavefront %q is in %s already", obj.Name, mode))
			return pl, nil
		}
		pl.steps = []step{specStep(c, obj, "mode", obj.GetMode(), mode, fmt.Sprintf("mode changed from %s to %s", obj.GetMode(), mode))}
		pl.warnings = p.revertWarning(obj, "mode")
		if mode == wavefrontv1.ModeShadow {
			pl.notes = append(pl.notes, "pins stay where they are; nothing is moved and no vanished pin is put back while in Shadow")
			return pl, nil
		}
		pl.notes = append(pl.notes, p.whatMoves(ctx, c, obj)...)
		if obj.Spec.Suspend {
			pl.warnings = append(pl.warnings, "the Wavefront is suspended: nothing moves before "+p.run("resume"))
		}
		return pl, nil
	}
}
