// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	wavefrontName = "fleet"
	url           = "https://git.sim/"
	ref           = "refs/heads/main"
)

// selectors are the Wavefronts that select a selected node.
var selectors = []string{wavefrontName}

// process is one life of the controller. Everything in it is lost in a crash.
type process struct {
	w       *world
	dice    dice
	alive   bool
	started time.Duration
	seq     uint64
	shadow  bool
	// evaluate is the reading of the rules.
	evaluate func(fleet.Input) fleet.Evaluation
	// ownership judges pins; nil for the model's own judgement.
	ownership Ownership

	// shown is how far each informer has come.
	shown   [kinds]time.Duration
	tracked []tracked
	ticks   int

	watch     []watched
	confirmed []fleet.Instant // the PinSeen that a live read was about
	reading   []bool
	verdicts  []*fleet.Verdict
	writing   []bool

	in fleet.Input
}

// watched is what the process knows of the ref of a source.
type watched struct {
	history fleet.History
	listing bool
	next    time.Duration
	retry   time.Duration
	trouble string
	// listed are the values that were accepted, in the order in which they
	// were first.
	listed []fleet.Revision
}

// startProcess brings the controller up: its caches have caught up with one
// consistent list.
func (w *world) startProcess() {
	w.processes++
	p := &process{
		w: w, dice: w.dice("controller", w.processes), alive: true, started: w.now, shadow: w.shadow,
		tracked: make([]tracked, len(w.sources)), watch: make([]watched, len(w.sources)),
		confirmed: make([]fleet.Instant, len(w.nodes)), reading: make([]bool, len(w.nodes)),
		verdicts: make([]*fleet.Verdict, len(w.nodes)), writing: make([]bool, len(w.sources)),
	}
	for k := range p.shown {
		p.shown[k] = w.now
	}
	if p.evaluate = w.options.Evaluate; p.evaluate == nil {
		p.evaluate = new(fleet.Evaluator).Evaluate
	}
	if w.options.Ownership != nil {
		p.ownership = w.options.Ownership(p.instant, w.clockTime)
	}
	for i := range w.sources {
		p.tracked[i] = newTracked(p.instant(), w.now, w.sources[i].live())
		p.tracked[i].virtual = w.shadowPins[i]
		if p.ownership != nil {
			p.ownership.Observe(p.view(i, w.sources[i].live()), true)
		}
	}
	w.process = p
	w.log("controller starts")
	p.tick(p.ticks)
}

// crash ends the process; it comes back after a while.
func (w *world) crash(d time.Duration) {
	if w.process == nil || !w.process.alive {
		return
	}
	w.log("controller crashes")
	w.process.alive = false
	w.after(d, w.startProcess)
}

func (p *process) instant() fleet.Instant {
	p.seq++
	return fleet.Instant{Seq: p.seq, At: p.w.now - p.started}
}

// soon asks for another tick, unless one comes earlier.
func (p *process) soon(d time.Duration) {
	p.ticks++
	serial := p.ticks
	p.w.after(d, func() { p.tick(serial) })
}

// tick observes, decides and acts. It does not decide anew while something that
// it decided earlier is still being written: a dependent's write that is under
// way could otherwise land after its ancestor has moved on.
func (p *process) tick(serial int) {
	if !p.alive || serial != p.ticks {
		return
	}
	if slices.Contains(p.writing, true) {
		p.soon(20 * time.Millisecond)
		return
	}
	p.sync()
	p.w.judge.awake(p)
	p.followMode()
	p.react()
	p.assemble()
	out := p.evaluate(p.in)
	p.w.judge.evaluated(&out)
	p.remember(&out)
	p.confirm(&out)
	p.move(&out)
	p.list(&out)
	p.w.settle(&out)
	p.soon(p.dice.between(50*time.Millisecond, 1500*time.Millisecond))
}

// followMode drops the virtual pins when the mode changes. What takes the pin's
// place is then another, so what was observed before does not count.
func (p *process) followMode() {
	if p.shadow == p.w.shadow {
		return
	}
	p.shadow = p.w.shadow
	for i := range p.tracked {
		if t := &p.tracked[i]; t.newest.commit == "" {
			t.virtual, t.since = "", p.instant()
			p.w.shadowPins[i] = ""
			p.forget(i)
		}
	}
}

// sync lets every informer come as far as it likes.
func (p *process) sync() {
	for k := range p.shown {
		until := max(p.shown[k], p.w.now-p.dice.between(0, informerLag))
		if kind(k) == gitRepositories {
			for i := range p.tracked {
				for _, v := range p.w.sources[i].since(p.shown[k], until) {
					p.observe(i, &v)
				}
			}
		}
		p.shown[k] = until
	}
}

// observe takes a version of a source in.
func (p *process) observe(i int, v *version[gitRepository]) {
	if p.ownership != nil {
		p.ownership.Observe(p.view(i, v), false)
	}
	if p.tracked[i].observe(p.instant(), p.w.options.settle(), v) {
		p.forget(i)
	}
}

// forget drops what was known about the previous pin of a source.
func (p *process) forget(source int) {
	for i := range p.verdicts {
		if p.w.sourceOf(i) == source {
			p.verdicts[i] = nil
		}
	}
}

// remember keeps verdicts, for objects without a history.
func (p *process) remember(out *fleet.Evaluation) {
	if !p.w.plan.OldFlux {
		return
	}
	for i := range out.Nodes {
		if v := out.Nodes[i].Verdict; v != fleet.Undecided && !out.Nodes[i].Missing {
			p.verdicts[number(out.Nodes[i].ID)] = &v
		}
	}
}

// assemble builds the input of the rules from what the informers show.
func (p *process) assemble() {
	w := p.w
	mode := fleet.Enforce
	if w.shadow {
		mode = fleet.Shadow
	}
	p.in.Self = fleet.Wavefront{Name: wavefrontName, Mode: mode, Suspended: w.suspended, ReplicaLag: w.options.replicaLag(), StaleAfter: staleAfter}
	p.in.Now, p.in.Clock = p.instant(), w.clockTime()
	p.in.Nodes, p.in.Sources, p.in.Releases = p.in.Nodes[:0], p.in.Sources[:0], p.in.Releases[:0]
	for i := range w.nodes {
		if v := w.nodes[i].asOf(p.shown[kustomizations]); v.value.exists {
			p.in.Nodes = append(p.in.Nodes, p.node(i, &v.value))
			if w.releases[i] != nil {
				p.in.Releases = append(p.in.Releases, p.release(i, v.value.source,
					&w.releases[i].asOf(p.shown[helmReleases]).value, &w.charts[i].asOf(p.shown[helmCharts]).value))
			}
		}
	}
	for i := range w.sources {
		p.in.Sources = append(p.in.Sources, p.source(i, &version[gitRepository]{number: p.tracked[i].number, value: p.tracked[i].newest}))
	}
}

// node renders a node as a fact.
func (p *process) node(i int, k *kustomization) fleet.Node {
	n := fleet.Node{
		ID: nodeID(i), Generation: k.generation, ObservedGeneration: k.observed, Suspended: k.suspended,
		Ready: k.ready, Last: k.last, LastApplied: k.lastApplied, LastAttempted: k.lastAttempted,
		Timeout: 30 * time.Second, Remembered: p.verdicts[i],
	}
	if k.selected {
		n.SelectedBy = selectors
	}
	if k.source >= 0 {
		n.Source = sourceID(k.source)
		n.Confirmed = !p.confirmed[i].IsZero() && p.confirmed[i] == p.tracked[k.source].since
	}
	if len(k.dependsOn) > 0 {
		n.DependsOn = make([]fleet.ID, len(k.dependsOn))
		for e, d := range k.dependsOn {
			n.DependsOn[e] = nodeID(d)
		}
	}
	return n
}

// source renders a version of a source as a fact, with what was seen of its pin.
func (p *process) source(i int, v *version[gitRepository]) fleet.Source {
	t := &p.tracked[i]
	f := p.facts(i, &v.value)
	f.PinSeen = t.since
	if p.ownership != nil {
		f.PinSeen, f.Claim, f.Manager = p.ownership.Judge(p.view(i, v))
		if v.value.commit == "" && t.since.Seq > f.PinSeen.Seq {
			f.PinSeen = t.since // of a virtual pin
		}
	} else {
		f.Claim, f.Manager = t.claim(p.w.now-p.started, p.w.options.settle())
	}
	if p.w.shadow && v.value.commit == "" {
		f.VirtualPin = t.virtual
	}
	return f
}

// facts is what a version of a source says of itself, and what was observed.
func (p *process) facts(i int, s *gitRepository) fleet.Source {
	return fleet.Source{
		ID: sourceID(i), Managed: s.managed, URL: url, Ref: ref,
		Generation: s.generation, ObservedGeneration: s.observed, Suspended: s.suspended,
		Ready: s.ready, FetchFailed: s.fetchFailed, Artifact: s.artifact, ArtifactAt: epoch.Add(s.artifactAt),
		Timeout: 20 * time.Second, Pin: s.commit, Ours: s.ours,
		Record: s.record, Initial: s.initial, PinnedAt: epoch.Add(s.pinnedAt), Owner: s.owner,
		Reconciled:       s.commit != "" && s.observed == s.generation && s.artifact == s.commit,
		ObservationError: p.watch[i].trouble, Observed: p.watch[i].history.Latest(url, ref),
	}
}

// release renders the release of a node as a fact.
func (p *process) release(i, source int, r *helmRelease, c *helmChart) fleet.Release {
	name := nodeIDs[i].Name
	result := fleet.Release{
		ID:        fleet.ID{Kind: fleet.KindHelmRelease, Namespace: "sim", Name: name},
		AppliedBy: nodeID(i), Suspended: r.suspended, Generation: 1, ObservedGeneration: r.observed,
		LastAttemptedGeneration: r.observed, LastAttemptedRevision: r.attempted, Ready: r.ready,
		Chart: &fleet.Chart{
			ID: fleet.ID{Kind: fleet.KindHelmChart, Namespace: "sim", Name: name}, Generation: 1, ObservedGeneration: 1,
			Ready: c.ready, ObservedSource: c.observedSource, Version: c.version,
		},
	}
	if source >= 0 {
		result.Source = sourceID(source)
	}
	return result
}

// confirm reads the nodes that would be settled live: the source, the
// Kustomization a little later, and where there are charts those twice, a second
// apart.
func (p *process) confirm(out *fleet.Evaluation) {
	for _, id := range out.Confirm {
		i := number(id)
		if p.reading[i] {
			continue
		}
		p.reading[i] = true
		p.w.after(p.dice.between(5*time.Millisecond, 200*time.Millisecond), func() { p.read(i) })
	}
}

func (p *process) read(i int) {
	w := p.w
	s := w.sourceOf(i)
	source := *w.sources[s].live()
	w.after(p.dice.between(0, 50*time.Millisecond), func() {
		node := *w.nodes[i].live()
		if w.releases[i] == nil {
			p.conclude(i, s, source, node)
			return
		}
		release, chart := w.releases[i].live().number, w.charts[i].live().number
		w.after(time.Second, func() {
			if w.releases[i].live().number != release || w.charts[i].live().number != chart {
				p.reading[i] = false
				return
			}
			p.conclude(i, s, source, node)
		})
	})
}

// conclude judges the node by what was read live.
func (p *process) conclude(i, s int, source version[gitRepository], node version[kustomization]) {
	p.reading[i] = false
	t := &p.tracked[s]
	if !p.alive || source.number < t.number || source.value.commit != t.newest.commit || !node.value.exists {
		return
	}
	p.assemble()
	for k := range p.in.Nodes {
		if p.in.Nodes[k].ID == nodeID(i) {
			p.in.Nodes[k] = p.node(i, &node.value)
			p.in.Nodes[k].Confirmed = true
		}
	}
	for k := range p.in.Releases {
		if p.in.Releases[k].AppliedBy == nodeID(i) {
			p.in.Releases[k] = p.release(i, s, &p.w.releases[i].live().value, &p.w.charts[i].live().value)
		}
	}
	p.in.Sources[s] = p.source(s, &source)
	out := p.evaluate(p.in)
	for k := range out.Nodes {
		if out.Nodes[k].ID == nodeID(i) && out.Nodes[k].Settled {
			p.confirmed[i] = t.since
		}
	}
}

// list asks the git hosts: at the interval, and where the rules want it.
func (p *process) list(out *fleet.Evaluation) {
	for i := range out.Sources {
		if s := number(out.Sources[i].ID); p.w.now >= p.watch[s].next && !slices.Contains(out.Waiting, out.Sources[i].ID) {
			p.listOne(s)
		}
	}
	for _, r := range out.Refresh {
		if p.w.now-p.started-r.After.At >= p.w.options.replicaLag() {
			p.listOne(number(r.Source))
		}
	}
}

func (p *process) listOne(s int) {
	watch := &p.watch[s]
	if watch.listing || p.w.now < watch.retry {
		return
	}
	watch.listing = true
	watch.next = p.w.now + p.dice.between(interval*9/10, interval*11/10)
	repo := p.w.repos[s]
	l := fleet.Listing{URL: url, Ref: ref, Started: p.instant()}
	replica := p.dice.IntN(len(repo.lags))
	p.w.after(p.dice.between(5*time.Millisecond, 1500*time.Millisecond), func() {
		l.Commit = repo.read(p.w.now, replica).hash
		failed := repo.down > p.w.now || p.w.flaky(p.dice, 0.05)
		p.w.after(p.dice.between(5*time.Millisecond, 1500*time.Millisecond), func() { p.listed(s, l, failed) })
	})
}

// listed takes an answer in.
func (p *process) listed(s int, l fleet.Listing, failed bool) {
	if !p.alive {
		return
	}
	watch := &p.watch[s]
	watch.listing = false
	if failed {
		watch.trouble, watch.retry = "timeout", p.w.now+p.dice.between(time.Second, 8*time.Second)
		return
	}
	watch.trouble = ""
	l.Completed, l.At = p.instant(), p.w.clockTime()
	before := watch.history.Latest(url, ref)
	accepted := p.w.options.accept(&watch.history, l)
	if accepted && !slices.Contains(watch.listed, l.Commit) {
		watch.listed = append(watch.listed, l.Commit)
	}
	if !accepted || before == nil || before.Commit != l.Commit {
		p.w.log("s%d is listed: %s (accepted: %v)", s, l.Commit, accepted)
	}
	p.soon(p.dice.between(time.Millisecond, 50*time.Millisecond))
}
