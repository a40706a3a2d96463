// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	interval   = 20 * time.Second // poll.interval
	replicaLag = 2 * time.Second
	staleAfter = 60 * time.Second
	// informerLag is how far an informer may be behind.
	informerLag = 1500 * time.Millisecond
	// observable is how long ago something must have been true for a write to
	// be excused: informers, an evaluation and the write itself take time.
	observable = 3 * time.Second
	// turmoil is how long humans act and things fail; peace is how long the
	// fleet then has to become quiescent.
	turmoil = 200 * time.Second
	peace   = 1500 * time.Second
)

// epoch is the time of day at which every run starts.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is one run.
type world struct {
	clock
	plan    Plan
	options Options

	repos    []*repository
	sources  []*object[gitRepository]
	nodes    []*object[kustomization]
	releases []*object[helmRelease] // nil for a node without one
	charts   []*object[helmChart]

	fetchers []*sourceController
	appliers []*kustomizeController
	helmers  []*helmController

	shadow    bool
	suspended bool
	calm      bool
	finished  bool
	// latePins wait for the next apply of a node of the source.
	latePins []*Action
	// shadowPins are what the Wavefront's status keeps.
	shadowPins []fleet.Revision

	process   *process
	processes int
	judge     witness
	trace     []string
	violation *Violation
}

// newWorld builds the world of a plan.
func newWorld(p Plan, o Options) *world {
	w := &world{plan: p, options: o, shadow: p.Shadow, shadowPins: make([]fleet.Revision, len(p.Sources)), latePins: make([]*Action, len(p.Sources))}
	for i := range p.Sources {
		w.addSource(i)
	}
	for i := range p.Nodes {
		w.addNode(i)
	}
	for i := range p.Nodes {
		if n := p.Nodes[i]; !n.Dropped {
			w.after(w.dice("start of node", i).between(0, 3*time.Second), w.appliers[i].trigger)
		}
	}
	w.judge = newWitness(w)
	for _, a := range p.Actions {
		w.after(a.At, func() { w.act(a) })
	}
	w.after(20*time.Second, w.startProcess)
	w.after(turmoil, w.pacify)
	return w
}

func (w *world) dice(name string, number int) dice { return newDice(w.plan.Seed, name, number) }

func (w *world) addSource(i int) {
	d := w.dice("repository", i)
	r := &repository{number: i, commits: map[fleet.Revision]*commit{}, pruned: map[fleet.Revision]bool{}}
	for range 1 + d.IntN(3) {
		r.lags = append(r.lags, time.Duration(d.Float64()*float64(replicaLag-50*time.Millisecond)))
	}
	if r.slow = w.plan.Sources[i].Slow; r.slow {
		r.lags = append(r.lags, d.between(replicaLag, interval*8/10))
	}
	r.push(-time.Hour, 0, 0)
	w.repos = append(w.repos, r)
	o := &object[gitRepository]{}
	o.update(0, func(s *gitRepository) {
		s.managed, s.generation = w.plan.Sources[i].Managed, 1
		if w.plan.Sources[i].Declared {
			s.commit, s.foreign, s.claimedAt = r.head().hash, []string{declarative}, -time.Hour
		}
	})
	if w.plan.Sources[i].Frozen {
		w.after(10*time.Second, func() {
			w.fetchers[i].store(r.head().hash, 1)
			w.actOnSource(Action{Kind: SuspendSource}, i)
		})
	}
	w.sources = append(w.sources, o)
	w.fetchers = append(w.fetchers, newSourceController(w, i))
	w.after(d.between(0, 2*time.Second), w.fetchers[i].trigger)
}

func (w *world) addNode(i int) {
	p := w.plan.Nodes[i]
	o := &object[kustomization]{}
	o.update(0, func(n *kustomization) {
		n.exists, n.selected, n.source, n.dependsOn = !p.Dropped, p.Selected, p.Source, p.DependsOn
		n.generation, n.observed = 1, -1
	})
	w.nodes = append(w.nodes, o)
	w.appliers = append(w.appliers, newKustomizeController(w, i))
	var release *object[helmRelease]
	var chart *object[helmChart]
	if p.Release && p.Source >= 0 && !p.Dropped {
		release, chart = &object[helmRelease]{}, &object[helmChart]{}
		release.update(0, func(*helmRelease) {})
		chart.update(0, func(*helmChart) {})
	}
	w.releases, w.charts = append(w.releases, release), append(w.charts, chart)
	w.helmers = append(w.helmers, &helmController{w: w, number: i, dice: w.dice("helm-controller", i)})
}

// flaky is a failure with probability p, as long as things fail at all.
func (w *world) flaky(d dice, p float64) bool {
	chance := d.chance(p)
	return chance && w.plan.Failures && !w.calm
}

func (w *world) clockTime() time.Time { return epoch.Add(w.now) }

// condition is the next Ready condition; its transition moves with its status.
func (w *world) condition(old fleet.Condition, s fleet.Status, reason string, generation int64) fleet.Condition {
	next := fleet.Condition{Status: s, Reason: reason, ObservedGeneration: generation, Since: old.Since}
	if old.Status != s {
		next.Since = w.clockTime()
	}
	return next
}

func (w *world) updateSource(i int, change func(*gitRepository)) {
	before := w.sources[i].live().value
	w.sources[i].update(w.now, change)
	after := w.sources[i].live().value
	if after.artifact != before.artifact {
		w.log("s%d: artifact %s", i, after.artifact)
	}
	if after.generation != before.generation {
		w.fetchers[i].trigger()
	}
}

func (w *world) updateNode(i int, change func(*kustomization)) {
	before := w.nodes[i].live().value
	w.nodes[i].update(w.now, change)
	if after := w.nodes[i].live().value; after.lastApplied != before.lastApplied ||
		after.lastAttempted != before.lastAttempted || after.ready.Reason != before.ready.Reason && after.ready.Reason == "HealthCheckFailed" {
		w.log("n%d: Ready %s (%s), applied %q, attempted %q", i, after.ready.Status, after.ready.Reason, after.lastApplied, after.lastAttempted)
	}
}

// artifactMoved tells everybody who builds from the source.
func (w *world) artifactMoved(source int) {
	for i := range w.nodes {
		if w.nodes[i].live().value.source != source {
			continue
		}
		w.after(w.appliers[i].dice.between(10*time.Millisecond, 2*time.Second), w.appliers[i].trigger)
		if w.releases[i] != nil {
			w.helmers[i].trigger()
		}
	}
}

// applied tells helm-controller that a release may have appeared or changed.
func (w *world) applied(node int) {
	if w.releases[node] != nil {
		w.helmers[node].trigger()
	}
}

// sourceOf is the source of a node.
func (w *world) sourceOf(node int) int { return w.nodes[node].live().value.source }

// breaks tells whether a node fails at a revision.
func (w *world) breaks(node int, r fleet.Revision) bool {
	if s := w.sourceOf(node); s >= 0 {
		if c := w.repos[s].commits[r]; c != nil {
			return c.breaks&(1<<node) != 0
		}
	}
	return false
}

// breaksChart tells whether a node's release fails at a chart version.
func (w *world) breaksChart(node int, version string) bool {
	hash := fleet.Revision(strings.TrimPrefix(version, "0.1.0+"))
	c := w.repos[w.sourceOf(node)].commits[hash]
	return c != nil && c.breaksChart&(1<<node) != 0
}

// log adds a line to the history that a violation prints.
func (w *world) log(format string, args ...any) {
	if w.options.Trace {
		w.trace = append(w.trace, fmt.Sprintf("%8.3fs  ", w.now.Seconds())+fmt.Sprintf(format, args...))
	}
}

// violate ends the run.
func (w *world) violate(invariant, format string, args ...any) {
	if w.violation == nil {
		w.violation = &Violation{Invariant: invariant, At: w.now, Text: fmt.Sprintf(format, args...)}
		w.log("VIOLATION (%s) %s", invariant, w.violation.Text)
	}
}

// nodeIDs and sourceIDs name the objects of the model.
var (
	nodeIDs   = ids(fleet.KindKustomization, "n")
	sourceIDs = ids(fleet.KindGitRepository, "s")
)

func ids(kind, letter string) []fleet.ID {
	const most = 32
	result := make([]fleet.ID, most)
	for i := range result {
		result[i] = fleet.ID{Kind: kind, Namespace: "sim", Name: fmt.Sprintf("%s%d", letter, i)}
	}
	return result
}

func nodeID(i int) fleet.ID   { return nodeIDs[i] }
func sourceID(i int) fleet.ID { return sourceIDs[i] }

// number is the number in the name of an object of the model.
func number(id fleet.ID) int {
	n := 0
	for _, digit := range id.Name[1:] {
		n = 10*n + int(digit-'0')
	}
	return n
}

// without is a copy of a list without one entry.
func without(list []string, entry string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == entry })
}
