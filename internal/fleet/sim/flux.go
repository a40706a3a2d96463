// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// worker reconciles one object, one run at a time, as the controllers of Flux do.
type worker struct {
	w      *world
	number int
	dice   dice
	// begin starts a run; the run calls end.
	begin  func()
	busy   bool
	queued bool
	// serial tells the latest retry or interval from earlier ones.
	serial int
}

// trigger reconciles the object now, or once more after the present run.
func (k *worker) trigger() {
	if k.busy {
		k.queued = true
		return
	}
	k.busy = true
	k.w.after(k.dice.between(10*time.Millisecond, 500*time.Millisecond), k.begin)
}

// end makes room for the next run, at once if one was asked for meanwhile.
func (k *worker) end(next time.Duration) {
	k.busy = false
	if k.queued {
		k.queued = false
		k.trigger()
		return
	}
	if next == 0 {
		return
	}
	k.serial++
	serial := k.serial
	k.w.after(next, func() {
		if serial == k.serial {
			k.trigger()
		}
	})
}

// sourceController fetches a source: at a change of the object, at its interval,
// and again after a failure. A fetch takes the commit that the object asked for
// when it began, whatever it asks for when it ends.
type sourceController struct{ worker }

func newSourceController(w *world, i int) *sourceController {
	c := &sourceController{worker{w: w, number: i, dice: w.dice("source-controller", i)}}
	c.begin = c.fetch
	return c
}

func (c *sourceController) fetch() {
	s := c.w.sources[c.number].live().value
	if s.suspended {
		c.end(0)
		return
	}
	repo := c.w.repos[c.number]
	wanted, generation := s.commit, s.generation
	c.w.after(c.dice.between(50*time.Millisecond, 6*time.Second), func() {
		failed := repo.down > c.w.now || c.w.flaky(c.dice, 0.05)
		if wanted == "" {
			wanted = repo.read(c.w.now, c.dice.IntN(len(repo.lags))).hash
		}
		if failed || repo.pruned[wanted] {
			c.fail(generation)
			return
		}
		c.store(wanted, generation)
	})
}

// store publishes an artifact.
func (c *sourceController) store(artifact fleet.Revision, generation int64) {
	changed := false
	c.w.updateSource(c.number, func(s *gitRepository) {
		changed = s.artifact != artifact
		if changed {
			s.artifact, s.artifactAt = artifact, c.w.now
		}
		s.observed, s.fetchFailed = generation, false
		s.ready = c.w.condition(s.ready, fleet.True, "Succeeded", generation)
	})
	if changed {
		c.w.artifactMoved(c.number)
	}
	c.end(c.dice.between(20*time.Second, 40*time.Second))
}

// fail leaves the artifact where it is. A fetch that was under way when the plan
// froze the source has no say: nobody would ever get over its failure.
func (c *sourceController) fail(generation int64) {
	if c.w.plan.Sources[c.number].Frozen && c.w.sources[c.number].live().value.suspended {
		c.end(0)
		return
	}
	c.w.updateSource(c.number, func(s *gitRepository) {
		s.fetchFailed = true
		s.ready = c.w.condition(s.ready, fleet.False, "GitOperationFailed", generation)
	})
	c.end(c.dice.between(2*time.Second, 15*time.Second))
}

// kustomizeController applies a node: at a change of its artifact or object, at
// its interval, after failures, and while it waits for dependencies.
type kustomizeController struct {
	worker
	// deployed is what truly runs and is healthy; empty while an apply of
	// something else is under way or failed.
	deployed fleet.Revision
}

func newKustomizeController(w *world, i int) *kustomizeController {
	c := &kustomizeController{worker: worker{w: w, number: i, dice: w.dice("kustomize-controller", i)}}
	c.begin = c.reconcile
	return c
}

func (c *kustomizeController) reconcile() {
	n := c.w.nodes[c.number].live().value
	if !n.exists || n.suspended {
		c.end(0)
		return
	}
	generation := n.generation
	revision := c.revision(n)
	switch {
	case revision == "" || c.w.flaky(c.dice, 0.03):
		c.conclude(fleet.False, "ArtifactFailed", generation, nil, 2*time.Second)
		return
	case !c.dependenciesReady(n, revision):
		c.conclude(fleet.False, "DependencyNotReady", generation, nil, c.dice.between(time.Second, 4*time.Second))
		return
	}
	c.w.updateNode(c.number, func(n *kustomization) {
		n.ready = c.w.condition(n.ready, fleet.Unknown, "Progressing", generation)
	})
	c.w.after(c.dice.between(10*time.Millisecond, time.Second), func() { c.apply(revision, generation) })
}

// revision is the artifact as this controller's own cache shows it; a node
// without a source applies something that never changes.
func (c *kustomizeController) revision(n kustomization) fleet.Revision {
	if n.source < 0 {
		return "constant"
	}
	behind := c.dice.between(0, 300*time.Millisecond)
	return c.w.sources[n.source].asOf(c.w.now - behind).value.artifact
}

// dependenciesReady reads the dependencies literally, as Flux does.
func (c *kustomizeController) dependenciesReady(n kustomization, revision fleet.Revision) bool {
	for _, d := range n.dependsOn {
		p := c.w.nodes[d].asOf(c.w.now - c.dice.between(0, 300*time.Millisecond)).value
		if !p.exists || p.ready.Status != fleet.True || p.observed != p.generation {
			return false
		}
		if p.source == n.source && p.lastApplied != revision {
			return false
		}
	}
	return true
}

// apply deploys the revision and waits for its health.
func (c *kustomizeController) apply(revision fleet.Revision, generation int64) {
	if c.deployed != revision {
		c.deployed = ""
	}
	c.w.updateNode(c.number, func(n *kustomization) { n.lastAttempted = revision })
	c.w.applied(c.number)
	healthy := !c.w.breaks(c.number, revision) && !c.w.flaky(c.dice, 0.04)
	duration := c.dice.between(50*time.Millisecond, 8*time.Second)
	c.w.latePin(c.number, revision, duration-c.dice.between(0, time.Second))
	c.w.after(duration, func() {
		if !healthy {
			c.conclude(fleet.False, "HealthCheckFailed", generation,
				&fleet.Reconciliation{Revision: revision, At: c.w.clockTime()}, c.dice.between(3*time.Second, 10*time.Second))
			return
		}
		c.deployed = revision
		c.conclude(fleet.True, "ReconciliationSucceeded", generation,
			&fleet.Reconciliation{Succeeded: true, Revision: revision, At: c.w.clockTime()}, c.dice.between(15*time.Second, 40*time.Second))
	})
}

// conclude writes the result in two patches, in either order.
func (c *kustomizeController) conclude(s fleet.Status, reason string, generation int64, entry *fleet.Reconciliation, next time.Duration) {
	condition := func() {
		c.w.updateNode(c.number, func(n *kustomization) { n.ready = c.w.condition(n.ready, s, reason, generation) })
	}
	status := func() {
		c.w.updateNode(c.number, func(n *kustomization) {
			if s == fleet.True {
				n.observed, n.lastApplied = generation, entry.Revision
			}
			if entry != nil && !c.w.plan.OldFlux {
				n.last = entry
			}
		})
	}
	gap := c.dice.between(0, 200*time.Millisecond)
	if c.dice.chance(0.5) {
		condition, status = status, condition
	}
	condition()
	c.w.after(gap, func() {
		status()
		c.end(next)
	})
}

// helmController builds the chart of a node's release from its source's
// artifact and upgrades the release.
type helmController struct {
	w      *world
	number int
	dice   dice
	busy   bool
	// deployed is the chart version that truly runs and is healthy.
	deployed string
}

// chartVersion is the version of the chart at a revision.
func chartVersion(r fleet.Revision) string { return "0.1.0+" + string(r) }

// trigger rebuilds the chart some time after the artifact moved.
func (c *helmController) trigger() {
	c.w.after(c.dice.between(50*time.Millisecond, 5*time.Second), func() {
		s := c.w.sources[c.w.sourceOf(c.number)].live().value
		if s.artifact == "" || c.w.charts[c.number].live().value.observedSource == s.artifact {
			return
		}
		c.w.charts[c.number].update(c.w.now, func(h *helmChart) {
			h.observedSource, h.version = s.artifact, chartVersion(s.artifact)
			h.ready = c.w.condition(h.ready, fleet.True, "ChartPullSucceeded", 1)
		})
		c.w.after(c.dice.between(20*time.Millisecond, 5*time.Second), c.upgrade)
	})
}

// upgrade rolls the release to the chart that is there.
func (c *helmController) upgrade() {
	release := c.w.releases[c.number]
	version := c.w.charts[c.number].live().value.version
	if r := release.live().value; c.busy || r.suspended || version == "" || (r.attempted == version && c.deployed == version) {
		return
	}
	c.busy = true
	release.update(c.w.now, func(r *helmRelease) {
		r.ready = c.w.condition(r.ready, fleet.Unknown, "Progressing", 1)
	})
	healthy := !c.w.breaksChart(c.number, version) && !c.w.flaky(c.dice, 0.05)
	c.deployed = ""
	c.w.after(c.dice.between(100*time.Millisecond, 6*time.Second), func() { c.conclude(version, healthy) })
}

func (c *helmController) conclude(version string, healthy bool) {
	status, reason := fleet.True, "UpgradeSucceeded"
	if healthy {
		c.deployed = version
	} else {
		status, reason = fleet.False, "UpgradeFailed"
	}
	release := c.w.releases[c.number]
	patches := []func(){
		func() { release.update(c.w.now, func(r *helmRelease) { r.attempted, r.observed = version, 1 }) },
		func() {
			release.update(c.w.now, func(r *helmRelease) { r.ready = c.w.condition(r.ready, status, reason, 1) })
		},
	}
	first := c.dice.IntN(2)
	patches[first]()
	c.w.after(c.dice.between(0, 200*time.Millisecond), func() {
		patches[1-first]()
		c.busy = false
		if !healthy {
			c.w.after(c.dice.between(2*time.Second, 10*time.Second), c.upgrade)
		} else {
			c.upgrade()
		}
	})
}
