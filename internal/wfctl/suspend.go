// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func (p *program) suspendCommand() *cobra.Command {
	var flags writeFlags
	cmd := &cobra.Command{
		Use:   "suspend",
		Short: "Stop every write to sources; observation goes on",
		Long: `Set spec.suspend on the Wavefront: the controller writes no source any more, not even to
put a pin back that vanishes. Observation and reporting go on.`,
		Example: `  wfctl suspend --reason "incident 4711"`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.planned(cmd.Context(), &flags, p.planSuspend(true))
		},
	}
	flags.addTo(cmd)
	return cmd
}

func (p *program) resumeCommand() *cobra.Command {
	var flags writeFlags
	cmd := &cobra.Command{
		Use:     "resume",
		Short:   "Let the Wavefront move sources again",
		Long:    `Take spec.suspend off the Wavefront. The plan says what will move at once.`,
		Example: `  wfctl resume`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.planned(cmd.Context(), &flags, p.planSuspend(false))
		},
	}
	flags.addTo(cmd)
	return cmd
}

// planner makes a plan from the Wavefront and the cluster as they are.
type planner func(context.Context, client.Client, *wavefrontv1.Wavefront) (*plan, error)

// planned finds the Wavefront, plans, and carries the plan out.
func (p *program) planned(ctx context.Context, flags *writeFlags, make planner) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	obj, err := p.findWavefront(ctx, c)
	if err != nil {
		return err
	}
	pl, err := make(ctx, c, obj)
	if err != nil {
		return err
	}
	self := wavefrontRef(obj)
	pl.wavefront = &self
	return p.carryOut(ctx, c, pl, flags)
}

func (p *program) planSuspend(suspend bool) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		pl := &plan{reason: reasonResumed, action: "Resume", title: "resume Wavefront " + obj.Name}
		say := "resumed"
		if suspend {
			pl.reason, pl.action, pl.title, say = reasonSuspended, "Suspend", "suspend Wavefront "+obj.Name, "suspended"
		}
		if obj.Spec.Suspend == suspend {
			pl.notes = append(pl.notes, fmt.Sprintf("Wavefront %q: spec.suspend is %t already", obj.Name, suspend))
			return pl, nil
		}
		pl.steps = []step{specStep(c, obj, "suspend", obj.Spec.Suspend, suspend, say)}
		pl.warnings = p.revertWarning(obj, "suspend")
		switch {
		case suspend:
			pl.notes = append(pl.notes, "no source is written any more, not even to put a vanished pin back; what is on its way arrives")
		case obj.GetMode() == wavefrontv1.ModeShadow:
			pl.notes = append(pl.notes, "the Wavefront is in Shadow: nothing is moved, only announced")
		default:
			pl.notes = append(pl.notes, p.whatMoves(ctx, c, obj)...)
		}
		return pl, nil
	}
}

// whatMoves says what a Wavefront that may write again will move.
func (p *program) whatMoves(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) []string {
	pic := picture.OfStatus(obj, p.now())
	pic.AddDetails(ctx, c) // the status tells a pin from a would-be pin only where they differ
	var lines []string
	waiting, floating := 0, 0
	for _, s := range pic.Sources {
		switch {
		case s.Hold != nil:
		case s.Pin == "" || s.Virtual || s.Detail != nil && s.Detail.Commit == "":
			floating++
		case s.Pending() != "":
			waiting++
			if len(lines) < listed {
				lines = append(lines, fmt.Sprintf("%s will move from %s to %s in its turn: %s", s.Path(), short(s.Pin), short(s.Pending()), paths(s.Nodes)))
			}
		}
	}
	if waiting > len(lines) {
		lines = append(lines, fmt.Sprintf("and %d more sources", waiting-len(lines)))
	}
	if floating > 0 {
		lines = append(lines, fmt.Sprintf("%d sources without a pin are pinned where they are", floating))
	}
	if len(lines) == 0 {
		return []string{"nothing waits to be moved"}
	}
	return lines
}
