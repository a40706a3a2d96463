// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func (p *program) uninstallCommand() *cobra.Command {
	var flags writeFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Let go of every source, remove our finalizers, and say what is left",
		Long: `Delete the Wavefronts (one, with --wavefront) and let go of their sources by their
releasePolicy: Keep leaves each at its commit, Float lets it follow its branch.

A running controller does so itself. What it has not done within --timeout is done here,
and the finalizers are removed, so that nothing stays terminating for ever. At the end
stands what is left to remove. FluxApps are kept; only their finalizer goes.`,
		Example: `  wfctl uninstall --dry-run`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.uninstall(cmd.Context(), &flags, timeout)
		},
	}
	flags.addTo(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "How long a running controller has to let go by itself")
	return cmd
}

func (p *program) uninstall(ctx context.Context, flags *writeFlags, timeout time.Duration) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	pl, err := p.planUninstall(ctx, c, timeout)
	if err != nil {
		return err
	}
	err = p.carryOut(ctx, c, pl, flags)
	if flags.dryRun || errors.Is(err, errDeclined) {
		return err
	}
	return errors.Join(err, p.sayWhatIsLeft(ctx, c))
}

func (p *program) planUninstall(ctx context.Context, c client.Client, timeout time.Duration) (*plan, error) {
	wavefronts := &wavefrontv1.WavefrontList{}
	if err := c.List(ctx, wavefronts); err != nil && !absent(err) {
		return nil, explainAPI("list Wavefronts", err)
	}
	pl := &plan{title: "uninstall: let go of every source and remove our finalizers", reason: reasonUninstalled, action: "Release"}
	for i := range wavefronts.Items {
		obj := &wavefronts.Items[i]
		if p.wavefront != "" && p.wavefront != obj.Name {
			continue
		}
		targets, err := p.owned(ctx, c, obj)
		if err != nil {
			return nil, err
		}
		pl.steps = append(pl.steps, p.deleteStep(c, obj, len(targets), timeout))
		for _, t := range targets {
			pl.notes = append(pl.notes, t.letGo(obj.GetReleasePolicy()))
		}
		if len(targets) > 0 && obj.GetReleasePolicy() == wavefrontv1.ReleaseKeep {
			pl.notes = append(pl.notes, fmt.Sprintf("to have them follow their branches instead, set spec.releasePolicy of Wavefront %s to Float before this", obj.Name))
		}
	}
	apps, err := fluxApps(ctx, c)
	if err != nil {
		return nil, err
	}
	if p.wavefront == "" {
		for i := range apps {
			pl.steps = append(pl.steps, finalizerStep(c, &apps[i]))
		}
	}
	return pl, nil
}

// floats tells whether a release drops the commit. What somebody else claims stays, as
// where the controller lets go.
func (t target) floats(policy wavefrontv1.ReleasePolicy) bool {
	return policy == wavefrontv1.ReleaseFloat && !t.handHeld()
}

// letGo says what becomes of a source.
func (t target) letGo(policy wavefrontv1.ReleasePolicy) string {
	if t.floats(policy) {
		return t.jumps(t.commit(), t.known.Observed) + " (releasePolicy Float)"
	}
	return fmt.Sprintf("%s stays at %s", t.path(), orNone(short(t.commit())))
}

func (p *program) deleteStep(c client.Client, obj *wavefrontv1.Wavefront, sources int, timeout time.Duration) step {
	return step{
		object: wavefrontRef(obj), say: fmt.Sprintf("deleted, %d sources let go by releasePolicy %s", sources, obj.GetReleasePolicy()),
		fields: []fieldChange{
			{"object", wavefrontv1.CLIFieldManager, "exists", "deleted"},
			{"finalizer and owner of sources", wavefrontv1.CLIFieldManager, fmt.Sprintf("%d sources", sources), "let go: " + string(obj.GetReleasePolicy())},
		},
		write: func(ctx context.Context) error {
			if err := c.Delete(ctx, obj, client.Preconditions{UID: &obj.UID}); client.IgnoreNotFound(err) != nil {
				return err
			}
			if gone, err := p.awaitGone(ctx, c, obj, timeout); gone || err != nil {
				return err
			}
			p.warning("no controller has let go of Wavefront %q within %s: doing it here", obj.Name, timeout)
			return p.letGoHere(ctx, c, obj)
		},
	}
}

// awaitGone gives a running controller its time.
func (p *program) awaitGone(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, timeout time.Duration) (bool, error) {
	p.waiting("waiting for the controller to let go of Wavefront %q", obj.Name)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		now := &wavefrontv1.Wavefront{}
		err := c.Get(ctx, client.ObjectKeyFromObject(obj), now)
		if apierrors.IsNotFound(err) || err == nil && now.UID != obj.UID {
			return true, nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return false, nil
			}
			return false, ctx.Err()
		case <-tick.C:
		}
	}
}

// letGoHere does what the controller's finalizer would have done.
func (p *program) letGoHere(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) error {
	targets, err := p.owned(ctx, c, obj)
	if err != nil {
		return err
	}
	var failed []error
	for _, t := range targets {
		write := p.writer(c).LetGo
		if t.floats(obj.GetReleasePolicy()) {
			write = p.writer(c).Float
		}
		if _, err := write(ctx, t.object); err != nil {
			failed = append(failed, fmt.Errorf("failed to let go of GitRepository %q: %w", t.path(), err))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return removeFinalizer(ctx, c, obj, wavefrontv1.WavefrontFinalizer)
}

// removeFinalizer removes one finalizer, guarded by the object's version.
func removeFinalizer(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	for range guardAttempts {
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return client.IgnoreNotFound(err)
		}
		if !slices.Contains(obj.GetFinalizers(), finalizer) {
			return nil
		}
		before, ok := obj.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("failed to copy %T", obj)
		}
		obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == finalizer }))
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := c.Patch(ctx, obj, patch, client.FieldOwner(wavefrontv1.CLIFieldManager))
		if !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
	return fmt.Errorf("failed to remove the finalizer %s: the object changes all the time", finalizer)
}

// fluxApps are the FluxApps that carry our finalizer; none where the kind is not
// installed.
func fluxApps(ctx context.Context, c client.Client) ([]fluxappv1.FluxApp, error) {
	list := &fluxappv1.FluxAppList{}
	if err := c.List(ctx, list); err != nil {
		if absent(err) {
			return nil, nil
		}
		return nil, explainAPI("list FluxApps", err)
	}
	return slices.DeleteFunc(list.Items, func(a fluxappv1.FluxApp) bool {
		return !slices.Contains(a.Finalizers, fluxappv1.FluxAppFinalizer)
	}), nil
}

func finalizerStep(c client.Client, app *fluxappv1.FluxApp) step {
	return step{
		object: picture.Ref{Kind: fluxappv1.FluxAppKind, Namespace: app.Namespace, Name: app.Name},
		fields: []fieldChange{{"finalizer", wavefrontv1.CLIFieldManager, fluxappv1.FluxAppFinalizer, ""}},
		say:    "finalizer removed; what it deployed stays",
		write: func(ctx context.Context) error {
			return removeFinalizer(ctx, c, app, fluxappv1.FluxAppFinalizer)
		},
	}
}

// sayWhatIsLeft looks at the cluster again and says what still speaks of us.
func (p *program) sayWhatIsLeft(ctx context.Context, c client.Client) error {
	var left []string
	stuck := 0
	wavefronts := &wavefrontv1.WavefrontList{}
	if err := c.List(ctx, wavefronts); err != nil && !absent(err) {
		return explainAPI("list Wavefronts", err)
	}
	for _, w := range wavefronts.Items {
		if !w.DeletionTimestamp.IsZero() {
			stuck++
		}
		left = append(left, "Wavefront "+w.Name)
	}
	apps, err := fluxApps(ctx, c)
	if err != nil {
		return err
	}
	for _, a := range apps {
		left = append(left, fmt.Sprintf("FluxApp %s/%s still has its finalizer: a controller that runs with the gate FluxApp puts it back; remove the controller, then run this again", a.Namespace, a.Name))
	}
	pinned, err := keptPins(ctx, c)
	if err != nil {
		return err
	}
	left = append(left, pinned...)
	for _, line := range left {
		p.note("left: %s", line)
	}
	p.note("left: the controller's Deployment, RBAC and CRDs; remove them the way they were installed (from Git, or kubectl delete -f install.yaml); CRDs last")
	if stuck > 0 {
		return fmt.Errorf("failed: %d Wavefronts are still terminating", stuck)
	}
	return nil
}

// keptPins are sources that the controller's manager still keeps at a commit.
func keptPins(ctx context.Context, c client.Client) ([]string, error) {
	list := &sourcev1.GitRepositoryList{}
	if err := c.List(ctx, list); err != nil {
		if absent(err) {
			return nil, nil
		}
		return nil, explainAPI("list GitRepositories", err)
	}
	var out []string
	for i := range list.Items {
		g := &list.Items[i]
		if g.Spec.Reference == nil || g.Spec.Reference.Commit == "" || !pin.OwnershipOf(g.ManagedFields).Ours {
			continue
		}
		out = append(out, fmt.Sprintf("GitRepository %s/%s stays at commit %s; to let it float: kubectl -n %s patch gitrepository %s --type=merge --field-manager=wfctl -p '{\"spec\":{\"ref\":{\"commit\":null}}}'",
			g.Namespace, g.Name, short(g.Spec.Reference.Commit), g.Namespace, g.Name))
	}
	return out, nil
}

// absent tells whether an object, or its whole kind, does not exist.
func absent(err error) bool { return apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) }
