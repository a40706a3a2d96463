// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// ActionKind is something that a human, or bad luck, does.
type ActionKind string

const (
	Push             ActionKind = "push"
	PushBoth         ActionKind = "push to two repositories"
	PushBroken       ActionKind = "push a broken commit"
	PushBrokenChart  ActionKind = "push a broken chart"
	ForcePush        ActionKind = "reset the branch to an earlier commit"
	Amend            ActionKind = "replace the head, which is pruned"
	HostDown         ActionKind = "the git host goes down"
	SuspendNode      ActionKind = "suspend a node"
	ResumeNode       ActionKind = "resume a node"
	SuspendSource    ActionKind = "suspend a source"
	ResumeSource     ActionKind = "resume a source"
	SuspendWavefront ActionKind = "suspend or resume the Wavefront"
	FlipMode         ActionKind = "flip the mode"
	EditPin          ActionKind = "pin by kubectl edit"
	ToolPin          ActionKind = "pin by a tool"
	LatePin          ActionKind = "push, and pin by a tool when a node is about to converge"
	DeclarePin       ActionKind = "Git renders the commit, or drops it"
	Strip            ActionKind = "Flux strips kubectl's claims"
	DropPin          ActionKind = "remove the commit"
	Release          ActionKind = "release a hold"
	Unselect         ActionKind = "change a node's label"
	Unmanage         ActionKind = "change a source's label"
	AddEdge          ActionKind = "add an edge"
	RemoveEdge       ActionKind = "remove an edge"
	Crash            ActionKind = "crash the controller"
	EditDuringCrash  ActionKind = "pin by kubectl edit while the controller is down"
)

// Action is one of them, at a moment. On and With are the numbers of what it is
// about; their meaning depends on the kind.
type Action struct {
	At   time.Duration
	Kind ActionKind
	On   int
	With int
}

func (a Action) String() string {
	return fmt.Sprintf("%8.3fs  %s (%d, %d)", a.At.Seconds(), a.Kind, a.On, a.With)
}

// act carries an action out.
func (w *world) act(a Action) {
	node, source := a.On%len(w.nodes), a.On%len(w.sources)
	switch a.Kind {
	case Push, PushBoth, PushBroken, PushBrokenChart, ForcePush, Amend, HostDown:
		w.actOnGit(a, source)
	case EditPin, ToolPin, DeclarePin, Strip, DropPin, Release:
		w.actOnPin(a, source)
		if a.Kind == EditPin {
			// Flux does so sooner or later.
			w.after(time.Duration(a.With%50)*700*time.Millisecond, func() { w.strip(Action{Kind: Strip, With: a.With}, source) })
		}
	case LatePin:
		w.push(source, 0, 0)
		w.push(a.With%len(w.repos), 0, 0)
		w.latePins[source] = &Action{Kind: ToolPin, On: source, With: 1 + a.With%2}
	case EditDuringCrash:
		w.crash(3 * time.Second)
		w.after(time.Second, func() { w.actOnPin(Action{Kind: EditPin, With: a.With}, source) })
		w.after(2*time.Second, func() { w.strip(Action{Kind: Strip, With: a.With}, source) })
	case SuspendNode, ResumeNode, Unselect, AddEdge, RemoveEdge:
		w.actOnNode(a, node)
	case SuspendSource, ResumeSource, Unmanage:
		w.actOnSource(a, source)
	case SuspendWavefront:
		w.suspended = a.With%2 == 0
		w.log("the Wavefront is suspended: %v", w.suspended)
	case FlipMode:
		w.shadow = a.With%2 == 0
		w.log("the Wavefront is in Shadow: %v", w.shadow)
	case Crash:
		w.crash(time.Duration(2+a.With%15) * time.Second)
	default:
		panic("no such action: " + a.Kind)
	}
}

func (w *world) actOnGit(a Action, source int) {
	repo := w.repos[source]
	switch a.Kind {
	case Push:
		w.push(source, 0, 0)
	case PushBoth:
		// The second repository follows within the time that a poll takes.
		w.push(source, 0, 0)
		w.after(time.Duration(a.With%5)*700*time.Millisecond+time.Millisecond, func() {
			w.push(a.With%len(w.repos), 0, 0)
		})
	case PushBroken:
		w.push(source, 1<<(a.With%len(w.nodes)), 0)
	case PushBrokenChart:
		w.push(source, 0, 1<<(a.With%len(w.nodes)))
	case ForcePush:
		repo.rewritten = true
		repo.set(w.now, repo.pushes[a.With%len(repo.pushes)].commit)
		w.log("r%d is reset to %s", source, repo.head().hash)
	case Amend:
		repo.rewritten = true
		repo.pruned[repo.head().hash] = len(repo.pushes) > 1
		w.push(source, 0, 0)
	case HostDown:
		repo.down = w.now + time.Duration(5+a.With%60)*time.Second
		w.log("the host of r%d is down for %v", source, repo.down-w.now)
	default:
	}
}

func (w *world) push(source, breaks, breaksChart int) {
	c := w.repos[source].push(w.now, breaks, breaksChart)
	w.log("r%d is pushed: %s%s", source, c.hash, map[bool]string{true: " (broken)"}[breaks|breaksChart != 0])
}

// actOnPin changes the pin, or the claims on it.
func (w *world) actOnPin(a Action, source int) {
	if w.plan.Sources[source].still() {
		return
	}
	repo := w.repos[source]
	s := w.sources[source].live().value
	next := s
	switch a.Kind {
	case EditPin, ToolPin:
		manager := map[ActionKind]string{EditPin: "kubectl-edit", ToolPin: "wfctl"}[a.Kind]
		to := repo.pushes[len(repo.pushes)-1-a.With%min(3, len(repo.pushes))].commit.hash
		if repo.pruned[to] || to == s.commit {
			return
		}
		next.commit, next.ours, next.foreign = to, false, []string{manager}
	case DeclarePin:
		if slices.Contains(s.foreign, declarative) {
			next.foreign = without(s.foreign, declarative)
			break
		}
		next.commit, next.foreign = repo.pushes[a.With%len(repo.pushes)].commit.hash, []string{declarative}
		if repo.pruned[next.commit] {
			return
		}
		next.ours = s.ours && next.commit == s.commit
	case Strip:
		w.strip(a, source)
		return
	case DropPin:
		next.ours, next.foreign = false, nil
	case Release:
		next.foreign, next.heldBy, next.ours = nil, "", s.commit != ""
	default:
	}
	w.human(source, a, s, next)
}

// human stores what somebody did to a pin. A commit that nobody claims any more
// is gone; Flux keeps a shared claim that Git dropped, without a write.
func (w *world) human(source int, a Action, s, next gitRepository) {
	if a.Kind == DeclarePin && s.ours && len(next.foreign) < len(s.foreign) {
		return
	}
	if !next.ours && len(next.foreign) == 0 {
		next.commit = ""
	}
	if next.commit != s.commit {
		next.generation++
	}
	w.log("s%d: %s: %q -> %q (ours %v, others %v)", source, a.Kind, s.commit, next.commit, next.ours, next.foreign)
	if !slices.Equal(s.foreign, next.foreign) {
		next.claimedAt = w.now
	}
	w.judge.written(source, s.commit, next.commit, false)
	w.judge.intended(source, a.Kind, next.commit)
	w.updateSource(source, func(s *gitRepository) { *s = next })
}

// latePin carries a waiting pin out just before a node converges at the head.
func (w *world) latePin(node int, r fleet.Revision, d time.Duration) {
	s := w.sourceOf(node)
	if s < 0 || w.latePins[s] == nil || w.repos[s].head().hash != r {
		return
	}
	a := *w.latePins[s]
	w.latePins[s] = nil
	w.after(d, func() {
		if !w.calm {
			w.act(a)
		}
	})
}

// strip is what kustomize-controller does to kubectl's claims: it takes them
// over, and drops them at its next apply, unless that fails.
func (w *world) strip(a Action, source int) {
	if w.plan.Sources[source].still() {
		return
	}
	s := w.sources[source].live().value
	if !slices.Contains(s.foreign, "kubectl-edit") {
		return
	}
	next := s
	next.foreign = append(without(without(s.foreign, "kubectl-edit"), declarative), declarative)
	w.human(source, a, s, next)
	if a.With%5 == 0 {
		return
	}
	w.after(time.Duration(a.With%80)*100*time.Millisecond, func() {
		s := w.sources[source].live().value
		if next := s; slices.Contains(s.foreign, declarative) {
			next.foreign = without(s.foreign, declarative)
			w.human(source, a, s, next)
		}
	})
}

func (w *world) actOnNode(a Action, node int) {
	n := w.nodes[node].live().value
	if !n.exists {
		return
	}
	w.log("n%d: %s (%d)", node, a.Kind, a.With)
	w.updateNode(node, func(n *kustomization) {
		switch a.Kind {
		case SuspendNode, ResumeNode:
			n.suspended = a.Kind == SuspendNode
		case Unselect:
			n.selected = a.With%2 == 0
			return
		case AddEdge:
			// Upwards only, unless the plan wants a cycle for a while.
			if p := a.With % len(w.nodes); p < node || a.With%17 == 0 {
				n.dependsOn = append(slices.Clone(n.dependsOn), p)
			}
		case RemoveEdge:
			if len(n.dependsOn) > 0 {
				n.dependsOn = slices.Clone(n.dependsOn[1:])
			}
		default:
		}
		n.generation++
	})
	w.appliers[node].trigger()
}

func (w *world) actOnSource(a Action, source int) {
	if w.plan.Sources[source].still() && w.now > 20*time.Second {
		return
	}
	w.log("s%d: %s (%d)", source, a.Kind, a.With)
	w.updateSource(source, func(s *gitRepository) {
		switch a.Kind {
		case SuspendSource, ResumeSource:
			s.suspended = a.Kind == SuspendSource
			s.generation++
		case Unmanage:
			s.managed = a.With%2 == 0
		default:
		}
	})
}

// pacify ends the turmoil: nothing fails any more, holds are released, broken
// heads fixed, labels and edges as planned, and the Wavefront enforces.
func (w *world) pacify() {
	w.log("peace")
	w.calm, w.shadow, w.suspended = true, false, false
	for i, repo := range w.repos {
		repo.down = 0
		if head := repo.head(); head.breaks|head.breaksChart != 0 || repo.pruned[head.hash] {
			w.push(i, 0, 0)
		}
		w.updateSource(i, func(s *gitRepository) {
			if s.suspended && !w.plan.Sources[i].Frozen {
				s.suspended = false
				s.generation++
			}
			s.managed = w.plan.Sources[i].Managed
		})
	}
	for i := range w.nodes {
		w.updateNode(i, func(n *kustomization) {
			n.selected, n.suspended = w.plan.Nodes[i].Selected, false
			n.dependsOn = slices.DeleteFunc(slices.Clone(n.dependsOn), func(p int) bool {
				return p >= i || w.plan.Nodes[p].Dropped
			})
			n.generation++
		})
		if w.nodes[i].live().value.exists {
			w.appliers[i].trigger()
		}
	}
	w.releaseHolds()
	// What vanished a moment ago may be put back, held, a moment from now.
	w.after(30*time.Second, w.releaseHolds)
	w.after(peace, w.demandPeace)
}

// releaseHolds ends every hold, and unpins what is not in scope.
func (w *world) releaseHolds() {
	for i := range w.sources {
		switch s := w.sources[i].live().value; {
		case w.plan.Sources[i].still():
		case s.commit != "" && !w.inScope(i):
			w.actOnPin(Action{Kind: DropPin}, i)
		case s.commit != "" && (s.held() || len(s.foreign) > 0):
			w.actOnPin(Action{Kind: Release}, i)
		}
	}
}

// settle ends the run once peace has come: invariant (e).
func (w *world) settle(out *fleet.Evaluation) {
	if w.calm && out.Phase == fleet.Quiescent && w.atHeads() {
		w.finished = true
	}
}

// demandPeace is the end of patience: it says what is not where it should be.
func (w *world) demandPeace() {
	for i, repo := range w.repos {
		if s := w.sources[i].live().value; w.inScope(i) && s.commit != repo.head().hash {
			w.violate("e", "in peace, s%d is at %q for ever, not at the head %s", i, s.commit, repo.head().hash)
			return
		}
	}
	w.violate("e", "in peace, all pins are at the heads, but the fleet never becomes quiescent")
}

// inScope tells whether the source is managed and a selected node is built from
// it, and it is free to move.
func (w *world) inScope(source int) bool {
	return !w.plan.Sources[source].still() && w.sources[source].live().value.managed && slices.ContainsFunc(w.nodes, func(o *object[kustomization]) bool {
		n := o.live().value
		return n.exists && n.selected && n.source == source
	})
}

// atHeads tells whether every source in scope is pinned at its head.
func (w *world) atHeads() bool {
	for i, repo := range w.repos {
		if w.inScope(i) && w.sources[i].live().value.commit != repo.head().hash {
			return false
		}
	}
	return true
}
