// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"time"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// Explanation of one node.
type Explanation struct {
	Node  picture.Ref `json:"node"`
	State string      `json:"state"`
	// Chain leads from the node to the root cause, one sentence each.
	Chain []Step `json:"chain"`
	// Root is the object that the chain ends at.
	Root picture.Ref `json:"root"`
	// Fix lists what helps, in the order to try; empty where nothing is wrong.
	Fix []string `json:"fix"`
	// ToMove says what it takes for the node to move.
	ToMove string `json:"toMove"`
}

// Step of a chain.
type Step struct {
	Object picture.Ref `json:"object"`
	Text   string      `json:"text"`
}

// Explainer explains nodes of one picture.
type Explainer struct {
	Picture *picture.Picture
	// Now is the time that ages are told from.
	Now time.Time
	// Command spells a command line of this program.
	Command func(args string) string
}

// Explain walks from the node to the root cause.
func (e Explainer) Explain(n *picture.Node) Explanation {
	out := Explanation{Node: n.Ref, State: n.State, Fix: []string{}}
	seen := map[picture.Ref]bool{}
	for at := n; ; {
		seen[at.Ref] = true
		out.Root = at.Ref
		out.Chain = append(out.Chain, Step{at.Ref, e.sentence(at)})
		out.Fix = append(out.Fix, e.ownFixes(at)...)
		next := e.next(at)
		if next == nil {
			break
		}
		ancestor := e.Picture.Node(*next)
		if ancestor == nil {
			out.Root = *next
			out.Chain = append(out.Chain, Step{*next, e.absent(at)})
			out.Fix = append(out.Fix, e.absentFix(*next, at)...)
			break
		}
		if seen[*next] {
			out.Chain = append(out.Chain, Step{*next, "which leads back here: see the cycle above"})
			break
		}
		if e.waitsForListing(at) {
			out.Root = *next
			out.Chain = append(out.Chain, Step{*next, listingSentence(ancestor)})
			out.Fix = append(out.Fix, e.listingFix(ancestor)...)
			break
		}
		at = ancestor
	}
	out.ToMove = e.toMove(n)
	return out
}

// next is whom the node waits for; nil where the reason is its own.
func (e Explainer) next(n *picture.Node) *picture.Ref {
	if n.Blocked == nil {
		return e.awaited(n)
	}
	switch fleet.Reason(n.Blocked.Reason) {
	case fleet.GraphCycle, fleet.Contested, fleet.Suspended, fleet.SelfHeld, fleet.SelfUnobserved, fleet.NotEnrolled:
		return nil
	default:
		return n.Blocked.Ancestor
	}
}

// awaited is the dependency for which Flux does not apply what the node is at: a missing
// one, else an unhealthy one; nil where none is in the way. One that is merely on its way
// is not: Flux may have seen it ready.
func (e Explainer) awaited(n *picture.Node) *picture.Ref {
	if n.State != string(wavefrontv1.StateConverging) || n.Ready {
		return nil
	}
	var unhealthy *picture.Ref
	for i, ref := range n.DependsOn {
		switch d := e.Picture.Node(ref); {
		case d == nil:
		case d.Missing():
			return &n.DependsOn[i]
		case d.Trouble != "" && unhealthy == nil:
			unhealthy = &n.DependsOn[i]
		}
	}
	return unhealthy
}

// waitsForListing tells whether the ancestor is sound and only has to be listed
// again.
func (e Explainer) waitsForListing(n *picture.Node) bool {
	return n.Blocked != nil && fleet.Reason(n.Blocked.Reason) == fleet.AncestorUnobserved
}

func listingSentence(n *picture.Node) string {
	if n.ObservationError != "" {
		return "has a source that can't be listed: " + n.ObservationError
	}
	return "is listed anew first, so that nothing which was pushed to it earlier is overtaken"
}

func (e Explainer) shadow() bool { return e.Picture.Wavefront.Mode == wavefrontv1.ModeShadow }

// cycleOf returns the cycles that the node is on, else all of them: it is then
// behind one.
func (e Explainer) cycleOf(ref picture.Ref) [][]picture.Ref {
	var own [][]picture.Ref
	for _, c := range e.Picture.Cycles {
		for _, r := range c {
			if r == ref {
				own = append(own, c)
				break
			}
		}
	}
	if len(own) > 0 {
		return own
	}
	return e.Picture.Cycles
}

func (e Explainer) absent(from *picture.Node) string {
	if fleet.Reason(from.Blocked.Reason) == fleet.AncestorMissing {
		return "does not exist"
	}
	if e.Picture.Wavefront.MembersOmitted > 0 {
		return "is left out of the status, which lists unsettled nodes first"
	}
	return fmt.Sprintf("is not in the picture of %s", from.Path())
}

func (e Explainer) absentFix(ref picture.Ref, from *picture.Node) []string {
	if fleet.Reason(from.Blocked.Reason) == fleet.AncestorMissing {
		return []string{e.missingFix(ref)}
	}
	return []string{"see it with " + e.Command("explain --derive "+escape.Word(from.Path()))}
}
