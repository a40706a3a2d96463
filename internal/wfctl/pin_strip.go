// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// stripFlags are the flags of pin-strip.
type stripFlags struct {
	write                      writeFlags
	includeHeld, suspend, poll bool
}

func (p *program) pinStripCommand() *cobra.Command {
	var f stripFlags
	cmd := &cobra.Command{
		Use:   "pin-strip",
		Short: "Break-glass: remove every pin of this Wavefront, so that the fleet floats",
		Long: `Remove every pin of this Wavefront, with its record: the fleet is then as if there were
no controller. Everything that waits is deployed at once, out of order.

Held sources keep their pin unless --include-held. With --suspend the Wavefront is
suspended first; otherwise a controller in Enforce pins each source anew at what it finds.
The plan says which workloads jump to what; --poll asks the git servers for it. A source
that fails does not stop the others, and makes the exit code 1.`,
		Example: `  wfctl pin-strip --suspend --poll --dry-run`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.planned(cmd.Context(), &f.write, p.planStrip(&f))
		},
	}
	f.write.addTo(cmd)
	cmd.Flags().BoolVar(&f.includeHeld, "include-held", false, "Remove pins that are held by hand, too")
	cmd.Flags().BoolVar(&f.suspend, "suspend", false, "Suspend the Wavefront first")
	cmd.Flags().BoolVar(&f.poll, "poll", false, "Ask the git servers what each source will jump to")
	return cmd
}

func (p *program) planStrip(f *stripFlags) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		targets, err := p.owned(ctx, c, obj)
		if err != nil {
			return nil, err
		}
		pl := &plan{title: "strip every pin of Wavefront " + obj.Name, reason: reasonStripped, action: "Float"}
		if f.suspend && !obj.Spec.Suspend {
			pl.steps = append(pl.steps, specStep(c, obj, "suspend", false, true, "suspended before its pins are stripped"))
			pl.warnings = append(pl.warnings, p.revertWarning(obj, "suspend")...)
		}
		heads := p.heads(ctx, c, obj, targets, f.poll)
		stripped := 0
		for _, t := range targets {
			if why := t.notStripped(f.includeHeld); why != "" {
				pl.notes = append(pl.notes, t.path()+" is left alone: "+why)
				continue
			}
			stripped++
			pl.steps = append(pl.steps, p.floatStep(c, t))
			pl.warnings = append(pl.warnings, t.jumps(t.commit(), heads[t.path()]))
		}
		if stripped == 0 {
			pl.steps = nil
			pl.notes = append(pl.notes, "no source carries a pin to strip")
			return pl, nil
		}
		if !f.suspend {
			pl.warnings = append(pl.warnings, floatWarnings(obj)...)
		}
		return pl, nil
	}
}

func (t target) notStripped(includeHeld bool) string {
	heldBy := t.object.Annotations[wavefrontv1.HeldByAnnotation]
	switch m := t.declaredBy(); {
	case t.commit() == "" && t.object.Annotations[wavefrontv1.PinnedCommitAnnotation] == "":
		return "it carries no pin"
	case m != "" && heldBy == "":
		return fmt.Sprintf("Git renders its commit through %s; remove it there", m)
	case !includeHeld && (heldBy != "" || len(t.ownership.Foreign) > 0):
		return "it is held by " + t.heldBy() + " (--include-held strips it, too)"
	}
	return ""
}

// heads returns what each source's reference is at: listed now, or as the
// controller last observed it. What is not known is left out.
func (p *program) heads(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, targets []*target, poll bool) map[string]string {
	heads := map[string]string{}
	if !poll {
		for _, t := range targets {
			heads[t.path()] = t.known.Observed
		}
		return heads
	}
	p.waiting("listing %d sources", len(targets))
	r := p.remote(c, obj)
	defer r.close()
	for _, t := range targets {
		head, err := r.head(ctx, t.object)
		if err != nil {
			p.warning("%s", err)
			continue
		}
		heads[t.path()] = head
	}
	return heads
}
