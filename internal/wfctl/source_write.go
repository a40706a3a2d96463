// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/wfctl/hand"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// target is a source that is about to be written.
type target struct {
	object    *sourcev1.GitRepository
	ownership pin.Ownership
	// declarative are the field managers that count as Git's.
	declarative []string
	// known is what the picture says of it; never nil.
	known *picture.Source
}

func (t target) ref() picture.Ref {
	return picture.Ref{Kind: sourcev1.GitRepositoryKind, Namespace: t.object.Namespace, Name: t.object.Name}
}

func (t target) path() string { return t.object.Namespace + "/" + t.object.Name }

func (t target) commit() string { return string(cluster.Pin(t.object)) }

// heldBy renders who holds the source: the annotation, or the managers.
func (t target) heldBy() string {
	if by := t.object.Annotations[wavefrontv1.HeldByAnnotation]; by != "" {
		return by
	}
	return strings.Join(t.ownership.Managers(), ", ")
}

// owners renders the managers of the commit.
func (t target) owners() string { return strings.Join(picture.OwnersOf(t.object), ", ") }

// declaredBy is the applier of Git that renders the commit; empty if none does.
func (t target) declaredBy() string {
	for _, m := range t.ownership.Managers() {
		if slices.Contains(t.declarative, m) {
			return m
		}
	}
	return ""
}

func (p *program) writer(c client.Client) hand.Writer { return hand.Writer{Client: c, Now: p.now} }

// readTarget reads a source live and refuses one that is not this Wavefront's.
func (p *program) readTarget(ctx context.Context, c client.Client, obj *wavefrontv1.Wavefront, arg string) (*target, error) {
	ref, err := parseName(arg, sourcev1.GitRepositoryKind)
	if err != nil {
		return nil, err
	}
	pic := picture.OfStatus(obj, p.now())
	g := &sourcev1.GitRepository{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, g); err != nil {
		if _, hint := findSource(pic, arg); absent(err) && hint != nil {
			return nil, hint
		}
		return nil, explainAPI(fmt.Sprintf("get GitRepository %q", ref.Path()), err)
	}
	switch owner := g.Annotations[wavefrontv1.OwnerAnnotation]; {
	case owner != "" && owner != obj.Name:
		return nil, fmt.Errorf("failed to take GitRepository %q: it belongs to Wavefront %q, not to %q; name it with --wavefront %s", ref.Path(), owner, obj.Name, owner)
	case owner == "" && pic.Source(ref.Path()) == nil:
		return nil, fmt.Errorf("failed to take GitRepository %q: it is not in scope of Wavefront %q%s", ref.Path(), obj.Name, omitted(pic))
	}
	return p.targetOf(pic, g), nil
}

func (p *program) targetOf(pic *picture.Picture, g *sourcev1.GitRepository) *target {
	t := &target{object: g, ownership: pin.OwnershipOf(g.ManagedFields), declarative: p.declarative}
	if t.known = pic.Source(t.path()); t.known == nil {
		t.known = &picture.Source{Ref: t.ref(), Pin: string(cluster.Pin(g))}
	}
	return t
}

// commitLength of a full SHA-1 hash, in hexadecimal digits.
const commitLength = 40

// parseCommit reads a full hash; Flux refuses an abbreviated one.
func parseCommit(sha string) (string, error) {
	sha = strings.ToLower(strings.TrimSpace(sha))
	if _, err := hex.DecodeString(sha); err != nil || len(sha) != commitLength {
		return "", fmt.Errorf("failed to read --sha: %q is not a full commit hash of %d hexadecimal digits (git rev-parse prints one)", sha, commitLength)
	}
	return sha, nil
}

// jumps says what the nodes of a source will do when its commit changes.
func (t target) jumps(from, to string) string {
	nodes := "no known node"
	if len(t.known.Nodes) > 0 {
		nodes = "nodes: " + paths(t.known.Nodes)
	}
	if to == "" {
		to = "the head of " + tracked(t.object) + " (not observed)"
	}
	if from == "" {
		from = "its present revision"
	}
	if from == to {
		return fmt.Sprintf("%s stays at %s (%s)", t.path(), short(to), nodes)
	}
	return fmt.Sprintf("%s jumps from %s to %s (%s)", t.path(), short(from), short(to), nodes)
}

func tracked(g *sourcev1.GitRepository) string {
	ref, style := cluster.TrackingRef(g)
	if ref == "" {
		return style
	}
	return ref
}

// commitChange is the step's change of the pin itself.
func (t target) commitChange(manager, after string) fieldChange {
	managers := t.owners()
	if managers != manager {
		managers += " -> " + manager
	}
	return fieldChange{"spec.ref.commit", managers, t.commit(), after}
}
