// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// forceFlags are the flags of force-admit.
type forceFlags struct {
	write      writeFlags
	sha        string
	unverified bool
}

func (p *program) forceAdmitCommand() *cobra.Command {
	var f forceFlags
	cmd := &cobra.Command{
		Use:   "force-admit NAMESPACE/NAME",
		Short: "Admit a source's newest commit past the gate, once",
		Long: `Advance a source past the gate, once: its reference is listed now and the pin moves to
what it holds, under the controller's own manager, with provenance that says who forced it.
Nothing is held: from there on the source moves in order again.

--sha names the commit instead; it must be what the reference holds, unless --unverified.
Refused while the source is held, or it, the Wavefront or a node of the source is
suspended, and in Shadow.`,
		Example: `  wfctl force-admit flotillas/team-x --reason "the fix for incident 4711"`,
		Args:    exactName("source (namespace/name)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.unverified && f.sha == "" {
				return fmt.Errorf("failed to read the flags: --unverified takes a commit without proof; name it with --sha")
			}
			return p.planned(cmd.Context(), &f.write, p.planForce(args[0], &f))
		},
		ValidArgsFunction: p.completeSources(),
	}
	f.write.addTo(cmd)
	cmd.Flags().StringVar(&f.sha, "sha", "", "The full hash of the commit (default: what the reference holds now)")
	cmd.Flags().BoolVar(&f.unverified, "unverified", false, "With --sha: take the commit without asking the git server")
	return cmd
}

func (p *program) planForce(arg string, f *forceFlags) planner {
	return func(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront) (*plan, error) {
		t, err := p.readTarget(ctx, c, obj, arg)
		if err != nil {
			return nil, err
		}
		if why := p.notForced(ctx, c, obj, t); why != "" {
			return nil, fmt.Errorf("failed to force %q: %s", t.path(), why)
		}
		sha, proof, err := p.forcedCommit(ctx, c, obj, t, f)
		if err != nil {
			return nil, err
		}
		pl := &plan{title: "admit " + t.path() + " past the gate", reason: reasonForceAdmitted, action: "Admit"}
		if fleet.Revision(sha).Same(cluster.Pin(t.object)) {
			pl.notes = append(pl.notes, fmt.Sprintf("%s is at %s already", t.path(), short(sha)))
			return pl, nil
		}
		by := p.forcedBy(f.write.reason)
		pl.notes = append(pl.notes, short(sha)+" "+proof)
		pl.warnings = append([]string{t.jumps(t.commit(), sha)}, p.pastTheGate(obj, t)...)
		pl.steps = []step{{
			object: t.ref(),
			fields: []fieldChange{t.commitChange(wavefrontv1.FieldManager, sha), {"annotation forced-by", wavefrontv1.FieldManager, t.object.Annotations[wavefrontv1.ForcedByAnnotation], by}},
			say:    fmt.Sprintf("admitted past the gate from %s to %s", short(t.commit()), short(sha)),
			write: func(ctx context.Context) error {
				// What was stopped since the plan was made stays where it is.
				if why := p.stoppedSince(ctx, c, obj, t); why != "" {
					return fmt.Errorf("refused: %s", why)
				}
				_, err := p.writer(c).ForceAdmit(ctx, t.object, obj.Name, sha, by)
				return err
			},
		}}
		return pl, nil
	}
}

// forcedBy is the provenance of a forced admission.
func (p *program) forcedBy(reason string) string {
	by := p.origin() + " at " + p.now().UTC().Format(time.RFC3339)
	if reason != "" {
		by += ": " + reason
	}
	return cut(escape.Terminal(escape.Text(by)), maxNote)
}

// notForced says why a source may not be forced.
func (p *program) notForced(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, t *target) string {
	if why := p.standsStill(obj); why != "" {
		return why
	}
	switch {
	case t.object.Spec.Suspend:
		return fmt.Sprintf("the GitRepository is suspended: flux -n %s resume source git %s", t.object.Namespace, t.object.Name)
	case t.declaredBy() != "" && t.object.Annotations[wavefrontv1.HeldByAnnotation] == "":
		return fmt.Sprintf("Git renders its commit through %s; remove spec.ref.commit from its manifest in Git", t.declaredBy())
	case t.object.Annotations[wavefrontv1.HeldByAnnotation] != "" || len(t.ownership.Foreign) > 0:
		return "it is held by " + t.heldBy() + "; see " + p.run("release "+t.path())
	case t.commit() == "":
		return "it has no pin yet; its first pin is not gated"
	case !t.ownership.Ours:
		return "its pin is nobody's that is known; take it over with " + p.run("release "+t.path())
	}
	if ref, style := cluster.TrackingRef(t.object); ref == "" {
		return "it follows " + style + ", which is not sequenced"
	}
	return p.suspendedNode(ctx, c, t)
}

// standsStill says why nothing of a Wavefront may be moved.
func (p *program) standsStill(obj *wavefrontv1.Wavefront) string {
	switch {
	case obj.GetMode() == wavefrontv1.ModeShadow:
		return "the Wavefront is in Shadow, where nothing is pinned; see " + p.run("mode Enforce")
	case obj.Spec.Suspend:
		return "the Wavefront is suspended; see " + p.run("resume")
	case !obj.DeletionTimestamp.IsZero():
		return "the Wavefront is being deleted"
	}
	return ""
}

// stoppedSince reads live what may have been stopped while somebody looked at the
// plan. The source itself is guarded by its version.
func (p *program) stoppedSince(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, t *target) string {
	now := &wavefrontv1.Wavefront{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), now); err != nil {
		return fmt.Sprintf("Wavefront %q could not be read: %s", obj.Name, err)
	}
	if now.UID != obj.UID {
		return fmt.Sprintf("Wavefront %q was replaced by another", obj.Name)
	}
	if why := p.standsStill(now); why != "" {
		return why
	}
	return p.suspendedNode(ctx, c, t)
}

// suspendedNode reads the source's nodes live and names one that is suspended.
func (p *program) suspendedNode(ctx context.Context, c client.Client, t *target) string {
	for _, n := range t.known.Nodes {
		k := &kustomizev1.Kustomization{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: n.Name}, k); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue
			}
			return "its node " + n.Path() + " could not be read: " + err.Error()
		}
		if k.Spec.Suspend {
			return fmt.Sprintf("its node %s is suspended: flux -n %s resume kustomization %s", n.Path(), n.Namespace, n.Name)
		}
	}
	return ""
}

// forcedCommit is what to admit, and why it can be taken.
func (p *program) forcedCommit(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, t *target, f *forceFlags) (sha, proof string, err error) {
	if f.sha != "" {
		if sha, err = parseCommit(f.sha); err != nil {
			return "", "", err
		}
	}
	if f.unverified {
		return sha, "is taken unproved: if the repository lacks it, the source fails and stays at its artifact", nil
	}
	r := p.remote(c, obj)
	defer r.close()
	head, err := r.head(ctx, t.object)
	if err != nil {
		return "", "", fmt.Errorf("%w; with --sha SHA --unverified no listing is needed", err)
	}
	if sha != "" && sha != head {
		return "", "", fmt.Errorf("failed to verify --sha: %s is at %s, not at %s; --unverified takes it all the same", tracked(t.object), short(head), short(sha))
	}
	return head, "is what " + tracked(t.object) + " holds now", nil
}

// pastTheGate says what the gate was closed for.
func (p *program) pastTheGate(obj *wavefrontv1.Wavefront, t *target) []string {
	var out []string
	for _, m := range obj.Status.Members {
		if m.Source == t.path() && m.Blocked != nil {
			by := ""
			if a := m.Blocked.Ancestor; a != nil {
				by = " (" + a.Namespace + "/" + a.Name + ")"
			}
			out = append(out, fmt.Sprintf("%s/%s waits for a reason: %s%s; it is passed over", m.Node.Namespace, m.Node.Name, m.Blocked.Reason, by))
		}
	}
	return out
}
