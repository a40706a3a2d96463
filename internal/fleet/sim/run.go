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

// Options say which reading of the rules is tried.
type Options struct {
	// Evaluate is the reading; by default that of a fleet.Evaluator which each
	// life of the controller has for itself.
	Evaluate func(fleet.Input) fleet.Evaluation
	// Accept takes a listing into a history; History.Accept by default.
	Accept func(*fleet.History, fleet.Listing, time.Duration) bool
	// SkipLiveNodes leaves out the live read of a source's nodes before a
	// write.
	SkipLiveNodes bool
	// SkipHolds neither shares hand-pins nor puts them back held.
	SkipHolds bool
	// SkipRestore leaves pins that vanish alone.
	SkipRestore bool
	// NoReplicaLag takes replicas not to lag.
	NoReplicaLag bool
	// DeclaredAtOnce takes a declarative applier's word for Git's at once.
	DeclaredAtOnce bool
	// Ownership, where set, makes the judge of pins that one life of the
	// controller uses, instead of the model's own.
	Ownership func(now func() fleet.Instant, clock func() time.Time) Ownership
	// Trace keeps the history of the run.
	Trace bool
}

func (o *Options) accept(h *fleet.History, l fleet.Listing) bool {
	if o.Accept != nil {
		return o.Accept(h, l, interval)
	}
	return h.Accept(l, interval)
}

// replicaLag is what replicas are taken to lag.
func (o *Options) replicaLag() time.Duration {
	if o.NoReplicaLag {
		return 0
	}
	return replicaLag
}

// settle is how long a declarative applier must have owned a pin.
func (o *Options) settle() time.Duration {
	if o.DeclaredAtOnce {
		return 0
	}
	return settleTime
}

// Violation is an invariant that did not hold.
type Violation struct {
	// Invariant is its letter.
	Invariant string
	At        time.Duration
	Text      string
	// History of the run, where it was traced.
	History []string
}

// Run plays a plan to its end and returns the first violation; nil if there is
// none.
func Run(p Plan, o Options) *Violation {
	w := newWorld(p, o)
	for w.violation == nil && !w.finished && w.step() {
		w.judge.look()
	}
	if w.violation != nil {
		w.violation.History = w.trace
	}
	return w.violation
}

// Shrink returns a smaller plan that violates the same invariant: without the
// actions and nodes that the violation does not need.
func Shrink(p Plan, o Options) Plan {
	first := Run(p, o)
	if first == nil {
		return p
	}
	still := func(candidate Plan) bool {
		v := Run(candidate, o)
		return v != nil && v.Invariant == first.Invariant
	}
	for smaller := true; smaller; {
		smaller = false
		for _, candidate := range reductions(p) {
			if still(candidate) {
				p, smaller = candidate, true
				break
			}
		}
	}
	return p
}

// reductions are plans with one thing less, large ones first.
func reductions(p Plan) []Plan {
	var result []Plan
	for size := len(p.Actions) / 2; size >= 1; size /= 2 {
		for from := 0; from+size <= len(p.Actions); from += size {
			r := p
			r.Actions = slices.Delete(slices.Clone(p.Actions), from, from+size)
			result = append(result, r)
		}
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		if p.Nodes[i].Dropped {
			continue
		}
		result = append(result, p.dropNode(i))
		for k := range p.Nodes[i].DependsOn {
			r := p
			r.Nodes = slices.Clone(p.Nodes)
			r.Nodes[i].DependsOn = slices.Delete(slices.Clone(p.Nodes[i].DependsOn), k, k+1)
			result = append(result, r)
		}
	}
	if p.Failures {
		r := p
		r.Failures = false
		result = append(result, r)
	}
	return result
}

// dropNode is the plan without a node and the edges to it.
func (p Plan) dropNode(i int) Plan {
	p.Nodes = slices.Clone(p.Nodes)
	p.Nodes[i] = NodePlan{Dropped: true, Source: p.Nodes[i].Source}
	for k := range p.Nodes {
		p.Nodes[k].DependsOn = slices.DeleteFunc(slices.Clone(p.Nodes[k].DependsOn), func(d int) bool { return d == i })
	}
	return p
}

// String renders a plan for people.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, failures %v, old Flux %v, starts in Shadow %v\n", p.Seed, p.Failures, p.OldFlux, p.Shadow)
	for i, n := range p.Nodes {
		if n.Dropped {
			continue
		}
		fmt.Fprintf(&b, "  n%d on s%d (managed %v), selected %v, release %v, depends on %v\n",
			i, n.Source, n.Source >= 0 && p.Sources[n.Source].Managed, n.Selected, n.Release, n.DependsOn)
	}
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "  %s\n", a)
	}
	return b.String()
}

// Report renders a violation with the smallest history that shows it.
func Report(p Plan, o Options) string {
	p = Shrink(p, o)
	o.Trace = true
	v := Run(p, o)
	if v == nil {
		return "no violation"
	}
	const shown = 100
	return fmt.Sprintf("invariant (%s) is violated: %s\n%s%s", v.Invariant, v.Text, p,
		strings.Join(v.History[max(0, len(v.History)-shown):], "\n"))
}
