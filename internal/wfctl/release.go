// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func (p *program) releaseCommand() *cobra.Command {
	var flags writeFlags
	var float bool
	cmd := &cobra.Command{
		Use:   "release NAMESPACE/NAME",
		Short: "End a hold: give a source back to the controller at its present commit",
		Long: `End a hold. The value stays: the controller's claim is made to stand before the holder's
goes. From there the source is admitted in order again.

--float drops the pin and its record instead: the source follows its branch at once, out
of order, and in Enforce is then pinned anew at what it finds there.`,
		Example: `  wfctl release flotillas/team-x
  wfctl release flotillas/team-x --float`,
		Args:              exactName("source (namespace/name)"),
		ValidArgsFunction: p.completeSources(),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan := p.planRelease(args[0])
			if float {
				plan = p.planFloat(args[0])
			}
			return p.planned(cmd.Context(), &flags, plan)
		},
	}
	flags.addTo(cmd)
	cmd.Flags().BoolVar(&float, "float", false, "Drop the pin and its record: the source follows its branch")
	return cmd
}

func (p *program) planRelease(arg string) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		t, err := p.readTarget(ctx, c, obj, arg)
		if err != nil {
			return nil, err
		}
		pl := &plan{title: "release " + t.path() + " at its present commit", reason: reasonReleased, action: "Release"}
		if why := t.notReleasable(); why != "" {
			return nil, fmt.Errorf("failed to release %q: %s", t.path(), why)
		}
		if !t.handHeld() {
			pl.notes = append(pl.notes, t.path()+" is not held by hand: the controller owns its pin")
			return pl, nil
		}
		pl.steps = []step{p.releaseStep(c, obj, t, "released, held by "+t.heldBy())}
		pl.notes = append(pl.notes, t.afterRelease())
		pl.warnings = p.holdsThatStay(obj, t)
		return pl, nil
	}
}

// releaseStep takes the holder's claim over.
func (p *program) releaseStep(c client.Client, obj *wavefrontv1.Wavefront, t *target, say string) step {
	fields := []fieldChange{t.commitChange(wavefrontv1.FieldManager, t.commit())}
	if by := t.object.Annotations[wavefrontv1.HeldByAnnotation]; by != "" {
		fields = append(fields, fieldChange{"annotation held-by", wavefrontv1.FieldManager, by, ""})
	}
	if record := t.object.Annotations[wavefrontv1.PinnedCommitAnnotation]; !fleet.Commit(record).Same(cluster.Pin(t.object)) {
		fields = append(fields, fieldChange{"annotation pinned-commit", wavefrontv1.FieldManager, record, t.commit()})
	}
	return step{
		object: t.ref(), fields: fields, say: say + "; stays at " + short(t.commit()),
		write: func(ctx context.Context) error { _, err := p.writer(c).Release(ctx, t.object, obj.Name); return err },
	}
}

// handHeld tells whether somebody else than the controller claims the pin.
func (t target) handHeld() bool {
	return len(t.ownership.Foreign) > 0 || t.object.Annotations[wavefrontv1.HeldByAnnotation] != "" ||
		!t.ownership.Ours && t.commit() != ""
}

func (t target) notReleasable() string {
	heldBy := t.object.Annotations[wavefrontv1.HeldByAnnotation]
	switch m := t.declaredBy(); {
	case t.commit() == "":
		return "it carries no pin; it follows " + tracked(t.object)
	case m != "" && heldBy == "":
		return fmt.Sprintf("Git renders its commit through %s; remove spec.ref.commit from its manifest in Git instead", m)
	}
	return ""
}

func (t target) afterRelease() string {
	if waits := t.known.Pending(); waits != "" && t.known.Observed != "" && !strings.EqualFold(waits, t.commit()) {
		return fmt.Sprintf("%s waits to be admitted: %s", short(waits), t.jumps(t.commit(), waits)+", once every ancestor is settled")
	}
	return "newer commits are admitted in order from now on"
}

// holdsThatStay are holds that a release does not end.
func (p *program) holdsThatStay(obj *wavefrontv1.Wavefront, t *target) []string {
	var out []string
	if t.object.Spec.Suspend {
		out = append(out, fmt.Sprintf("the GitRepository is suspended, and stays held by that: flux -n %s resume source git %s", t.object.Namespace, t.object.Name))
	}
	if obj.GetMode() == wavefrontv1.ModeShadow {
		out = append(out, "the Wavefront is in Shadow: nothing moves the source from here on")
	}
	return out
}

func (p *program) planFloat(arg string) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		t, err := p.readTarget(ctx, c, obj, arg)
		if err != nil {
			return nil, err
		}
		pl := &plan{title: "let " + t.path() + " float", reason: reasonReleased, action: "Float"}
		if t.commit() == "" {
			pl.notes = append(pl.notes, t.path()+" carries no pin: it floats already")
			return pl, nil
		}
		if m := t.declaredBy(); m != "" && t.object.Annotations[wavefrontv1.HeldByAnnotation] == "" {
			return nil, fmt.Errorf("failed to float %q: Git renders its commit through %s; remove spec.ref.commit from its manifest in Git instead", t.path(), m)
		}
		pl.steps = []step{p.floatStep(c, t)}
		pl.warnings = append(floatWarnings(obj), t.jumps(t.commit(), t.known.Observed))
		return pl, nil
	}
}

func (p *program) floatStep(c client.Client, t *target) step {
	return step{
		object: t.ref(),
		fields: []fieldChange{
			t.commitChange("nobody", ""),
			{"annotations of the pin", wavefrontv1.CLIFieldManager, "recorded " + short(t.object.Annotations[wavefrontv1.PinnedCommitAnnotation]), ""},
		},
		say:   "pin " + short(t.commit()) + " dropped; it follows " + tracked(t.object),
		write: func(ctx context.Context) error { _, err := p.writer(c).Float(ctx, t.object); return err },
	}
}

func floatWarnings(obj *wavefrontv1.Wavefront) []string {
	if obj.GetMode() == wavefrontv1.ModeEnforce && !obj.Spec.Suspend {
		return []string{"out of order: whatever its branch holds is deployed at once; the controller then pins it there anew"}
	}
	return []string{"out of order: whatever its branch holds is deployed at once, and everything pushed to it later, until it is pinned again"}
}

// adoptFlags are the flags of adopt.
type adoptFlags struct {
	write   writeFlags
	all     bool
	manager string
}

func (p *program) adoptCommand() *cobra.Command {
	var f adoptFlags
	cmd := &cobra.Command{
		Use:   "adopt [NAMESPACE/NAME...] | --all",
		Short: "Take back pins that a tool owns at exactly the recorded value",
		Long: `Take back pins whose foreign owner holds exactly the recorded value: after a backup was
restored, say, which makes the restoring tool the owner of every field.

A pin at another value than the record is somebody's intent and is left alone ("wfctl
release" ends it). So is, with --all, one that already carries the hold annotation,
unless --manager names its holder: after a restore the controller may have taken the
tool for a person.`,
		Example: `  # After a restore
  wfctl adopt --all --manager velero-server`,
		ValidArgsFunction: p.completeSources(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all == (len(args) > 0) {
				return fmt.Errorf("failed to read the arguments: name sources (namespace/name), or give --all")
			}
			return p.planned(cmd.Context(), &f.write, p.planAdopt(args, &f))
		},
	}
	f.write.addTo(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "Every source of the Wavefront that qualifies")
	cmd.Flags().StringVar(&f.manager, "manager", "", "Only pins of this field manager")
	return cmd
}

func (p *program) planAdopt(args []string, f *adoptFlags) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		pl := &plan{title: "adopt pins", reason: reasonAdopted, action: "Adopt"}
		targets, err := p.adoptable(ctx, c, obj, args)
		if err != nil {
			return nil, err
		}
		for _, t := range targets {
			why := f.skips(t)
			switch {
			case why == "":
				pl.steps = append(pl.steps, p.releaseStep(c, obj, t, "adopted from "+strings.Join(t.ownership.Managers(), ", ")))
			case !f.all:
				return nil, fmt.Errorf("failed to adopt %q: %s", t.path(), why)
			case len(t.ownership.Foreign) > 0:
				pl.notes = append(pl.notes, fmt.Sprintf("%s is left alone: %s", t.path(), why))
			}
		}
		return pl, nil
	}
}

// adoptable reads the sources that are named, or all that the Wavefront owns.
func (p *program) adoptable(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, args []string) ([]*target, error) {
	if len(args) == 0 {
		return p.owned(ctx, c, obj)
	}
	var targets []*target
	for _, arg := range args {
		t, err := p.readTarget(ctx, c, obj, arg)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// owned reads all sources that carry the Wavefront's owner annotation.
func (p *program) owned(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) ([]*target, error) {
	list := &sourcev1.GitRepositoryList{}
	if err := c.List(ctx, list); err != nil && !absent(err) { // Flux may be uninstalled already
		return nil, explainAPI("list GitRepositories", err)
	}
	pic := picture.OfStatus(obj, p.now())
	var targets []*target
	for i := range list.Items {
		if g := &list.Items[i]; g.Annotations[wavefrontv1.OwnerAnnotation] == obj.Name {
			targets = append(targets, p.targetOf(pic, g))
		}
	}
	slices.SortFunc(targets, func(a, b *target) int { return strings.Compare(a.path(), b.path()) })
	return targets, nil
}

// skips says why a source is not adopted.
func (f *adoptFlags) skips(t *target) string {
	managers := t.ownership.Managers()
	heldBy := t.object.Annotations[wavefrontv1.HeldByAnnotation]
	holder, _ := pin.ParseHeldBy(heldBy)
	record, void := cluster.Record(t.object)
	switch {
	case len(managers) == 0:
		return "no foreign manager owns its pin"
	case f.manager != "" && (len(managers) > 1 || managers[0] != f.manager):
		return "its pin is owned by " + strings.Join(managers, ", ")
	case void || record == "":
		return "it carries no record of a pin for its present URL and reference"
	case !record.Same(cluster.Pin(t.object)):
		return fmt.Sprintf("its pin %s is not the recorded %s", short(t.commit()), short(string(record)))
	case heldBy != "" && f.all && f.manager != holder:
		return "it is held by " + heldBy + " (--manager " + holder + " adopts it all the same)"
	case t.declaredBy() != "" && f.manager == "":
		return "Git may render its commit through " + t.declaredBy()
	}
	return ""
}
