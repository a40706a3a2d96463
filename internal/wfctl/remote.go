// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/refs"
)

// maxHeads bounds the branch heads that are read to prove a commit.
const maxHeads = 10_000

// remote asks git servers about one source.
type remote struct {
	lister *refs.Lister
}

func (p *program) remote(c client.Client, obj *wavefrontv1.Wavefront) remote {
	return remote{refs.NewLister(refs.ListerOptions{
		Clock: refs.NewClock(clock.RealClock{}), Client: c, Timeout: obj.Spec.Poll.GetTimeout(),
	})}
}

func (r remote) close() { r.lister.Close() }

// head returns the commit that the source's reference is at now.
func (r remote) head(ctx context.Context, g *sourcev1.GitRepository) (string, error) {
	listing, err := r.lister.List(ctx, g)
	if err != nil {
		return "", fmt.Errorf("failed to list %s of GitRepository %q: %w", tracked(g), client.ObjectKeyFromObject(g), err)
	}
	return string(listing.Commit), nil
}

// errUnproved says that a commit could not be proved to exist where Flux will
// look for it.
var errUnproved = errors.New("only the heads of branches are advertised, so an older commit can't be proved from here")

// prove checks that Flux can fetch the commit: it must be the head of the branch
// that the source follows, or of any branch where it follows a name.
func (r remote) prove(ctx context.Context, g *sourcev1.GitRepository, commit string) (where string, err error) {
	heads, err := r.lister.Heads(ctx, g, maxHeads)
	if err != nil {
		return "", fmt.Errorf("failed to list the branches of GitRepository %q: %w", client.ObjectKeyFromObject(g), err)
	}
	ref, _ := cluster.TrackingRef(g)
	var elsewhere []string
	for _, h := range heads {
		switch {
		case !h.Commit.Same(fleet.Revision(commit)):
		case h.Name == ref:
			return "is the head of " + h.Name, nil
		default:
			elsewhere = append(elsewhere, h.Name)
		}
	}
	if len(elsewhere) == 0 {
		return "", fmt.Errorf("%s is not advertised by the repository: %w; --unverified pins it all the same", short(commit), errUnproved)
	}
	if g.Spec.Reference != nil && g.Spec.Reference.Branch != "" && g.Spec.Reference.Name == "" {
		return "", fmt.Errorf("%s is the head of %s, but the source follows branch %s, and Flux refuses a commit of another branch (unless that branch holds it too: --unverified)",
			short(commit), strings.Join(elsewhere, ", "), g.Spec.Reference.Branch)
	}
	return "is the head of " + strings.Join(elsewhere, ", "), nil
}

// known tells where the cluster itself knows a commit from: it was deployed
// before, so the repository has had it on the source's branch.
func known(g *sourcev1.GitRepository, commit string) string {
	for _, k := range []struct{ value, what string }{
		{string(cluster.Pin(g)), "is the present pin"},
		{g.Annotations[wavefrontv1.PreviousPinAnnotation], "is the previous pin"},
		{g.Annotations[wavefrontv1.PinnedCommitAnnotation], "is the recorded pin"},
	} {
		if fleet.Commit(k.value).Same(fleet.Revision(commit)) {
			return k.what
		}
	}
	if a := g.Status.Artifact; a != nil && cluster.Revision(a.Revision).Same(fleet.Revision(commit)) {
		return "is the stored artifact"
	}
	return ""
}
