// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// keptMoves bounds how many moves are remembered.
const keptMoves = 200

// State is what is known of the rollout.
type State struct {
	// Picture is the newest one; nil before the first.
	Picture *picture.Picture
	// Moves are what changed from picture to picture, newest last.
	Moves []Move
	// Err is why the newest look failed; the picture is then an older one.
	Err error
	// Now is the time of the newest look.
	Now time.Time
}

// Move is one change of one node.
type Move struct {
	At   time.Time
	Node picture.Ref
	Text string
	// State that the node is in after it.
	State string
}

// See takes a look in and returns what changed since the last.
func (s *State) See(p *picture.Picture, err error, now time.Time) []Move {
	s.Now, s.Err = now, err
	if err != nil || p == nil {
		return nil
	}
	var moves []Move
	if s.Picture != nil {
		moves = changes(s.Picture, p, now)
	}
	s.Picture = p
	s.Moves = append(s.Moves, moves...)
	if extra := len(s.Moves) - keptMoves; extra > 0 {
		s.Moves = slices.Delete(s.Moves, 0, extra)
	}
	return moves
}

func changes(before, after *picture.Picture, now time.Time) []Move {
	known := make(map[picture.Ref]*picture.Node, len(before.Nodes))
	for i := range before.Nodes {
		known[before.Nodes[i].Ref] = &before.Nodes[i]
	}
	var moves []Move
	for i := range after.Nodes {
		n := &after.Nodes[i]
		old := known[n.Ref]
		if old == nil {
			// A node that the status left out while it was settled is no news.
			if before.Wavefront.MembersOmitted == 0 {
				moves = append(moves, Move{now, n.Ref, "joined: " + n.State, n.State})
			}
			continue
		}
		var parts []string
		if old.Pin != n.Pin && n.Pin != "" {
			parts = append(parts, fmt.Sprintf("%s -> %s", short(old.Pin), short(n.Pin)))
		}
		if old.State != n.State {
			parts = append(parts, old.State+" -> "+n.State)
		}
		if old.Pending() != n.Pending() && n.Pending() != "" {
			parts = append(parts, "new commit "+short(n.Pending()))
		}
		if len(parts) > 0 {
			moves = append(moves, Move{now, n.Ref, strings.Join(parts, ", "), n.State})
		}
	}
	return moves
}

// Culprit holds nodes up.
type Culprit struct {
	Node   picture.Ref
	State  string
	Why    string
	Blocks int
}

// troubleOf is what is wrong with a node: of a source that can't be listed that, for what
// else is said of the node may follow from it.
func troubleOf(n *picture.Node) string {
	if n.ObservationError != "" {
		return "can't be listed: " + n.ObservationError
	}
	return n.Trouble
}

// Culprits are the nodes at the ends of the chains that blocked nodes wait on,
// those that hold up most first.
func (s *State) Culprits() []Culprit {
	byRef := map[picture.Ref]*picture.Node{}
	for i := range s.Picture.Nodes {
		byRef[s.Picture.Nodes[i].Ref] = &s.Picture.Nodes[i]
	}
	found := map[picture.Ref]*Culprit{}
	for i := range s.Picture.Nodes {
		n := &s.Picture.Nodes[i]
		if n.Blocked == nil {
			continue
		}
		root, reason := rootOf(n, byRef)
		c := found[root]
		if c == nil {
			c = &Culprit{Node: root, Why: reason}
			if r := byRef[root]; r != nil {
				c.State = r.State
				if trouble := troubleOf(r); trouble != "" {
					c.Why = trouble
				}
			}
			found[root] = c
		}
		if root != n.Ref {
			c.Blocks++
		}
	}
	out := make([]Culprit, 0, len(found))
	for _, c := range found {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Culprit) int {
		if a.Blocks != b.Blocks {
			return b.Blocks - a.Blocks
		}
		return a.Node.Compare(b.Node)
	})
	return out
}

// rootOf follows what blocks a node to the end.
func rootOf(n *picture.Node, byRef map[picture.Ref]*picture.Node) (picture.Ref, string) {
	reason := n.Blocked.Reason
	at := n
	for range len(byRef) {
		if at.Blocked == nil || at.Blocked.Ancestor == nil {
			break
		}
		reason = at.Blocked.Reason
		next := byRef[*at.Blocked.Ancestor]
		if next == nil {
			return *at.Blocked.Ancestor, reason
		}
		if next == n {
			break
		}
		at = next
	}
	if at.Blocked != nil {
		reason = at.Blocked.Reason
	}
	return at.Ref, reason
}

const shortLength = 8

func short(commit string) string {
	switch {
	case commit == "":
		return "no pin"
	case len(commit) > shortLength:
		return commit[:shortLength]
	}
	return commit
}
