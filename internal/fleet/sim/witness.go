// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// sighting is when something was last true, about which pin.
type sighting struct {
	at  time.Duration
	pin fleet.Revision
}

// witness knows the truth and holds every step against it.
type witness struct {
	w *world
	// asGate is when each node was last truly settled if it is a gate,
	// asPinned if it is pinned, and at which pin.
	asGate   []time.Duration
	asPinned []sighting
	// meddled is when somebody else last changed a source's pin.
	meddled []time.Duration
	// last is the last pin that each source carried.
	last []fleet.Revision
	// vanished is when each source lost its pin.
	vanished []time.Duration
	// intents are holds that somebody wants and the controller knows of.
	intents []intent
}

// intent is a commit that somebody pinned by hand, until they release it or do
// something else to it. Flux's strip is nobody's wish.
type intent struct {
	pin fleet.Revision
	// since is when; awake is since when the controller has been able to see
	// and defend it.
	since, awake time.Duration
}

func newWitness(w *world) witness {
	n := witness{
		w: w, asPinned: make([]sighting, len(w.nodes)), asGate: make([]time.Duration, len(w.nodes)),
		meddled: make([]time.Duration, len(w.sources)), last: make([]fleet.Revision, len(w.sources)),
		intents: make([]intent, len(w.sources)), vanished: make([]time.Duration, len(w.sources)),
	}
	for i := range n.asGate {
		n.asGate[i], n.asPinned[i].at = -time.Hour, -time.Hour
	}
	for i := range n.meddled {
		n.meddled[i] = -time.Hour
	}
	return n
}

// look notes which nodes are truly settled now. What runs is what counts, not
// what anybody says about it.
func (n *witness) look() {
	for i := range n.w.nodes {
		k := &n.w.nodes[i].live().value
		deployed := n.w.appliers[i].deployed
		if !k.exists || deployed == "" {
			continue
		}
		if k.source < 0 {
			n.asGate[i] = n.w.now
			continue
		}
		s := &n.w.sources[k.source].live().value
		// Gates are not read live, so a cache may show the artifact of before.
		if k.suspended || deployed == s.artifact || s.artifactAt > n.w.now-informerLag {
			n.asGate[i] = n.w.now
		}
		if n.w.releases[i] != nil && n.w.helmers[i].deployed != chartVersion(s.artifact) {
			continue
		}
		if s.commit == "" && (k.suspended || deployed == s.artifact) || s.artifact == s.commit && deployed == s.commit {
			n.asPinned[i] = sighting{at: n.w.now, pin: s.commit}
		}
	}
}

// written is told about every change of a pin.
func (n *witness) written(source int, from, to fleet.Revision, ours bool) {
	if ours && (n.w.shadow || n.w.suspended) {
		n.w.violate("g", "s%d is written to in Shadow or while suspended", source)
	}
	if !ours {
		n.meddled[source] = n.w.now
	}
	switch {
	case to != "":
		n.last[source] = to
	case from != "":
		n.vanished[source] = n.w.now
	}
}

// intended is told what somebody did to a pin, and what it is then.
func (n *witness) intended(source int, k ActionKind, pin fleet.Revision) {
	i := &n.intents[source]
	switch k {
	case EditPin, ToolPin:
		*i = intent{pin: pin, since: n.w.now, awake: i.awake}
	case Strip:
		// The controller can defend a pin only if it saw it in time.
		able := n.w.process != nil && n.w.process.alive && !n.w.shadow && !n.w.suspended
		if pin == "" && (!able || n.w.now-max(i.since, i.awake) < observable) {
			i.pin = ""
		}
	default:
		i.pin = ""
	}
}

// awake is told which sources the controller can defend now.
func (n *witness) awake(p *process) {
	for s := range n.intents {
		if n.w.shadow || n.w.suspended || !p.tracked[s].newest.managed || !p.inScope(s) || p.w.now == p.started {
			n.intents[s].awake = n.w.now
			if n.w.sources[s].live().value.commit == "" {
				n.intents[s].pin = "" // it vanished while nobody could see it
			}
		}
	}
}

// decision is the graph that a move was decided by: what the informers showed.
type decision struct {
	// parents of each node, and the source that pins it (-1 for a gate).
	parents [][]int
	source  []int
	// movers are the selected nodes of the moving source.
	movers []int
}

func (n *witness) decision(in *fleet.Input, m fleet.Move) decision {
	d := decision{parents: make([][]int, len(n.w.nodes)), source: make([]int, len(n.w.nodes))}
	inScope := map[fleet.ID]bool{}
	for i := range in.Nodes {
		if len(in.Nodes[i].SelectedBy) > 0 {
			inScope[in.Nodes[i].Source] = true
		}
	}
	for i := range in.Sources {
		inScope[in.Sources[i].ID] = inScope[in.Sources[i].ID] && in.Sources[i].Managed
	}
	for i := range d.source {
		d.source[i] = -1
	}
	for i := range in.Nodes {
		k := number(in.Nodes[i].ID)
		for _, p := range in.Nodes[i].DependsOn {
			d.parents[k] = append(d.parents[k], number(p))
		}
		if !in.Nodes[i].Source.IsZero() && inScope[in.Nodes[i].Source] {
			d.source[k] = number(in.Nodes[i].Source)
		}
	}
	for _, id := range m.Nodes {
		d.movers = append(d.movers, number(id))
	}
	return d
}

// ancestors lists all ancestors of a node, by walking.
func (d *decision) ancestors(node int) []int {
	var result []int
	queue := []int{node}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, p := range d.parents[v] {
			if !slices.Contains(result, p) {
				result = append(result, p)
				queue = append(queue, p)
			}
		}
	}
	return result
}

// vertex of a node in the contracted graph: sources are negative.
func (d *decision) vertex(node int) int {
	if s := d.source[node]; s >= 0 {
		return -1 - s
	}
	return node
}

// reaches tells whether vertex a leads to vertex b in the contracted graph.
func (d *decision) reaches(a, b int) bool {
	seen := map[int]bool{a: true}
	queue := []int{a}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		if v == b {
			return true
		}
		for k := range d.parents {
			if d.vertex(k) != v {
				continue
			}
			for _, p := range d.parents[k] {
				if u := d.vertex(p); !seen[u] {
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return false
}

// gating lists the ancestors that must be settled before the source moves.
func (d *decision) gating(source int) []int {
	var result []int
	for _, m := range d.movers {
		for _, a := range d.ancestors(m) {
			v := d.vertex(a)
			together := d.reaches(v, -1-source) && d.reaches(-1-source, v)
			if !together && !slices.Contains(result, a) {
				result = append(result, a)
			}
		}
	}
	return result
}

// moved checks a move at the moment in which it is written.
func (n *witness) moved(p *process, source int, m fleet.Move, d decision) {
	s := &n.w.sources[source].live().value
	if m.Kind != fleet.Restore { // which moves nothing: the artifact is there still
		n.checkHeld(source, m, s)
	}
	n.checkSeen(p, source, s, m)
	n.checkOlder(p, source, m)
	n.checkRestored(source, m)
	if m.Kind != fleet.Advance {
		return
	}
	for _, a := range d.gating(source) {
		n.checkSettled(source, m, a, d.source[a])
		n.checkOrder(source, m, a, d.source[a])
	}
}

// checkHeld is invariant (d): a held source never moves.
func (n *witness) checkHeld(source int, m fleet.Move, s *gitRepository) {
	switch {
	case s.suspended:
		n.w.violate("d", "s%d is moved while it is suspended", source)
	case s.commit != "" && (len(s.foreign) > 0 || s.held()):
		n.w.violate("d", "s%d is moved although somebody else fixed its commit", source)
	}
	if n.intents[source].pin != "" && m.Kind == fleet.Advance {
		n.w.violate("d", "s%d is moved although it was pinned by hand at %s and nobody released it", source, n.intents[source].pin)
	}
	for i := range n.w.nodes {
		if k := n.w.nodes[i].live().value; k.exists && k.selected && k.suspended && k.source == source {
			n.w.violate("d", "s%d is moved while n%d is suspended", source, i)
		}
	}
}

// checkSeen is invariant (c): only what was seen on the ref is written.
func (n *witness) checkSeen(p *process, source int, s *gitRepository, m fleet.Move) {
	known := slices.Contains(p.watch[source].listed, m.To)
	switch m.Kind {
	case fleet.Initial:
		known = known || m.To == s.artifact
	case fleet.Restore:
		known = known || m.To == s.record
	case fleet.Advance:
	}
	if !known {
		n.w.violate("c", "s%d is moved to %s, which was never seen on its ref", source, m.To)
	}
}

// checkOlder is invariant (h): no pin moves to an older push of a ref that was
// not rewritten. Where a replica lags more than it may, that can be told only of
// values that this process has seen before.
func (n *witness) checkOlder(p *process, source int, m fleet.Move) {
	repo, last := n.w.repos[source], n.last[source]
	seen := p.watch[source].listed
	if repo.slow && slices.Index(seen, m.To) > slices.Index(seen, last) {
		return
	}
	if !repo.rewritten && last != "" && m.Kind == fleet.Advance && repo.last(m.To) < repo.last(last) {
		n.w.violate("h", "s%d is moved from %s back to %s", source, last, m.To)
	}
}

// checkRestored is invariant (i): a pin that vanishes under the controller's eyes
// is put back; the source is not pinned anew wherever it has floated to.
func (n *witness) checkRestored(source int, m fleet.Move) {
	watched := n.intents[source].awake < n.vanished[source]-observable
	if m.Kind == fleet.Initial && n.last[source] != "" && m.To != n.last[source] && watched {
		n.w.violate("i", "s%d floated from %s to %s although the controller saw its pin vanish", source, n.last[source], m.To)
	}
}

// checkSettled is invariant (b): an ancestor is truly settled, or was a moment
// ago, when a pin moves.
func (n *witness) checkSettled(source int, m fleet.Move, a, ancestor int) {
	recently := n.w.now - observable
	settled := n.asGate[a] >= recently
	if ancestor >= 0 {
		seen := n.asPinned[a]
		settled = seen.at >= recently &&
			(seen.pin == n.w.sources[ancestor].live().value.commit || n.meddled[ancestor] >= recently)
	}
	if !settled {
		n.w.violate("b", "s%d is moved to %s while n%d, an ancestor, is not settled", source, m.To, a)
	}
}

// checkOrder is invariant (a): what was pushed to an ancestor earlier has been
// admitted earlier.
func (n *witness) checkOrder(source int, m fleet.Move, a, ancestor int) {
	if ancestor < 0 {
		return
	}
	repo, above := n.w.repos[source], n.w.repos[ancestor]
	if repo.slow || above.slow {
		return // the host lags more than the rules allow for
	}
	s := &n.w.sources[ancestor].live().value
	if s.commit == "" || slices.Contains(s.foreign, declarative) || n.meddled[ancestor] >= n.w.now-observable {
		return // never pinned, Git chose the commit, or somebody did just now
	}
	when := repo.pushes[max(0, repo.first(m.To))].at
	pinned := above.last(s.commit)
	for k, u := range above.pushes {
		if u.at < when && k > pinned {
			n.w.violate("a", "s%d is moved to %s before s%d (n%d, an ancestor) to %s, which was pushed earlier",
				source, m.To, ancestor, a, u.commit.hash)
		}
	}
}

// evaluated checks what an evaluation says: invariant (f).
func (n *witness) evaluated(out *fleet.Evaluation) {
	for i := range out.Nodes {
		r := &out.Nodes[i]
		if r.State != fleet.Pending || r.Missing {
			continue
		}
		if r.Blocked == nil {
			n.w.violate("f", "%s waits and does not say why", r.ID)
			return
		}
		if named(r.Blocked.Reason) {
			n.checkNamed(out, r)
		}
	}
}

// named tells whether the reason names an ancestor.
func named(r fleet.Reason) bool {
	switch r {
	case fleet.AncestorUnhealthy, fleet.AncestorPending, fleet.AncestorHeld, fleet.AncestorUnobserved,
		fleet.AncestorMissing, fleet.AncestorNotEnrolled:
		return true
	default:
		return false
	}
}

// checkNamed checks that the named node is an ancestor, and unsettled.
func (n *witness) checkNamed(out *fleet.Evaluation, r *fleet.NodeResult) {
	byID := map[fleet.ID]*fleet.NodeResult{}
	for i := range out.Nodes {
		byID[out.Nodes[i].ID] = &out.Nodes[i]
	}
	found := false
	queue, seen := []fleet.ID{r.ID}, map[fleet.ID]bool{}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, p := range byID[v].DependsOn {
			if !seen[p] {
				seen[p] = true
				queue = append(queue, p)
				found = found || p == r.Blocked.Ancestor
			}
		}
	}
	a := byID[r.Blocked.Ancestor]
	switch {
	case !found || a == nil:
		n.w.violate("f", "%s says that it waits for %s, which is no ancestor", r.ID, r.Blocked.Ancestor)
	case a.Settled && r.Blocked.Reason != fleet.AncestorUnobserved:
		n.w.violate("f", "%s says that it waits for %s, which is settled", r.ID, r.Blocked.Ancestor)
	}
}
