// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// pinFlags are the flags of pin.
type pinFlags struct {
	write                   writeFlags
	sha                     string
	poll, unverified, force bool
}

func (p *program) pinCommand() *cobra.Command {
	var f pinFlags
	cmd := &cobra.Command{
		Use:   "pin NAMESPACE/NAME --sha SHA",
		Short: "Pin a source by hand and hold it there",
		Long: `Pin a source at a commit under the field manager wfctl, which kustomize-controller does
not strip. The source is then held: the controller leaves it alone until "wfctl release".

The commit is checked: one that this cluster had before (the previous pin, the artifact)
is known; another is proved with --poll, as far as a git server tells (it advertises the
heads of branches only), or taken unproved with --unverified. A pin that somebody else
than the controller or wfctl owns is displaced only with --force.`,
		Example: `  # Back to what ran before
  wfctl pin flotillas/team-x --sha 2f60c1d3a5b7e9f0123456789abcdef012345678 --reason "incident 4711"`,
		Args:              exactName("source (namespace/name)"),
		ValidArgsFunction: p.completeSources(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.planned(cmd.Context(), &f.write, p.planPin(args[0], &f))
		},
	}
	f.write.addTo(cmd)
	cmd.Flags().StringVar(&f.sha, "sha", "", "The full hash of the commit (required)")
	cmd.Flags().BoolVar(&f.poll, "poll", false, "Prove the commit by asking the git server")
	cmd.Flags().BoolVar(&f.unverified, "unverified", false, "Take the commit without proof")
	cmd.Flags().BoolVar(&f.force, "force", false, "Displace another manager's pin")
	cmd.MarkFlagsMutuallyExclusive("poll", "unverified")
	_ = cmd.MarkFlagRequired("sha")
	return cmd
}

func (p *program) planPin(arg string, f *pinFlags) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		sha, err := parseCommit(f.sha)
		if err != nil {
			return nil, err
		}
		t, err := p.readTarget(ctx, c, obj, arg)
		if err != nil {
			return nil, err
		}
		pl := &plan{title: "pin " + t.path() + " by hand", reason: reasonPinned, action: "Pin"}
		if t.commit() == sha && slices.Contains(t.ownership.Managers(), wavefrontv1.CLIFieldManager) {
			pl.notes = append(pl.notes, fmt.Sprintf("%s is pinned by hand at %s already", t.path(), short(sha)))
			return pl, nil
		}
		if err := t.displaceable(f.force); err != nil {
			return nil, err
		}
		proof, err := p.verify(ctx, c, obj, t, sha, f.poll, f.unverified)
		if err != nil {
			return nil, err
		}
		pl.notes = append(pl.notes, short(sha)+" "+proof, t.jumps(t.commit(), sha), "held until "+p.run("release "+t.path()))
		pl.warnings = t.pinWarnings()
		pl.steps = []step{{
			object: t.ref(), fields: []fieldChange{t.commitChange(wavefrontv1.CLIFieldManager, sha)},
			say:   fmt.Sprintf("pinned by hand from %s to %s", orNone(short(t.commit())), short(sha)),
			write: func(ctx context.Context) error { _, err := p.writer(c).Pin(ctx, t.object, sha); return err },
		}}
		return pl, nil
	}
}

// displaceable refuses to take a pin from somebody who is neither the controller
// nor wfctl, unless forced.
func (t target) displaceable(force bool) error {
	if m := t.declaredBy(); m != "" && t.object.Annotations[wavefrontv1.HeldByAnnotation] == "" {
		return fmt.Errorf("failed to pin %q: Git renders its commit through %s, which would put it back; change spec.ref.commit in Git", t.path(), m)
	}
	for _, m := range t.ownership.Managers() {
		if m != wavefrontv1.CLIFieldManager && !force {
			return fmt.Errorf("failed to pin %q: %s owns its commit (held by %s); --force displaces it", t.path(), m, t.heldBy())
		}
	}
	return nil
}

func (t target) pinWarnings() []string {
	var out []string
	for _, m := range t.ownership.Managers() {
		if m != wavefrontv1.CLIFieldManager {
			out = append(out, fmt.Sprintf("%s is displaced: tell whoever it is", m))
		}
	}
	if t.object.Spec.Suspend {
		out = append(out, "the GitRepository is suspended: it does not fetch the commit until it is resumed")
	}
	return append(out, "everything that depends on it counts it as it is: what is broken at this commit blocks them, what is healthy lets them move")
}

// verify says why a commit can be taken, or refuses it.
func (p *program) verify(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, t *target, sha string, poll, unverified bool) (string, error) {
	if why := known(t.object, sha); why != "" {
		return why, nil
	}
	if unverified {
		return "is taken unproved: if the repository lacks it, the source fails and stays at its artifact", nil
	}
	if !poll {
		return "", errors.New("failed to verify the commit: this cluster never had it; --poll asks the git server, --unverified takes it without proof")
	}
	r := p.remote(c, obj)
	defer r.close()
	where, err := r.prove(ctx, t.object, sha)
	if err != nil {
		return "", fmt.Errorf("failed to verify the commit: %w", err)
	}
	return where, nil
}

func orNone(s string) string {
	if s == "" {
		return "no pin"
	}
	return s
}
