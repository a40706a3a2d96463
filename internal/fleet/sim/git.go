// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Commit is a commit of a repository.
type commit struct {
	hash fleet.Revision
	// breaks holds the nodes that fail at this commit, breaksChart those whose
	// release does.
	breaks, breaksChart int
}

// push is a new value of a repository's branch.
type push struct {
	at     time.Duration
	commit *commit
}

// repository is one git repository with its branch, on a host with replicas.
type repository struct {
	number  int
	pushes  []push
	commits map[fleet.Revision]*commit
	// pruned commits can't be fetched any more.
	pruned map[fleet.Revision]bool
	// rewritten is set once the branch was reset to an earlier commit or away
	// from one.
	rewritten bool
	// lags are how far each replica is behind.
	lags []time.Duration
	// slow: one replica lags more than it may; only what is sure all the same
	// is demanded then.
	slow bool
	// down until then: nothing can be listed or fetched.
	down time.Duration
}

// head is what the branch points to.
func (r *repository) head() *commit { return r.pushes[len(r.pushes)-1].commit }

// push adds a commit; breaks and breaksChart are bit sets of nodes.
func (r *repository) push(at time.Duration, breaks, breaksChart int) *commit {
	c := &commit{
		hash:   fleet.Revision(fmt.Sprintf("r%d-%d", r.number, len(r.commits))),
		breaks: breaks, breaksChart: breaksChart,
	}
	r.commits[c.hash] = c
	r.set(at, c)
	return c
}

// set points the branch to a commit.
func (r *repository) set(at time.Duration, c *commit) {
	r.pushes = append(r.pushes, push{at: at, commit: c})
}

// read is what a replica says at a moment.
func (r *repository) read(at time.Duration, replica int) *commit {
	seen := r.pushes[0].commit
	for _, p := range r.pushes[1:] {
		if p.at+r.lags[replica] > at {
			break
		}
		seen = p.commit
	}
	return seen
}

// first and last are the numbers of the pushes that set the branch to the
// commit; -1 if none did.
func (r *repository) first(c fleet.Revision) int {
	for i, p := range r.pushes {
		if p.commit.hash == c {
			return i
		}
	}
	return -1
}

func (r *repository) last(c fleet.Revision) int {
	for i := len(r.pushes) - 1; i >= 0; i-- {
		if r.pushes[i].commit.hash == c {
			return i
		}
	}
	return -1
}
