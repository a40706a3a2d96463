// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// event is something that happens at a moment.
type event struct {
	at    time.Duration
	order int
	do    func()
}

// agenda is a heap of events, earliest first.
type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, k int) bool {
	return a[i].at < a[k].at || (a[i].at == a[k].at && a[i].order < a[k].order)
}
func (a agenda) Swap(i, k int) { a[i], a[k] = a[k], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}

// clock runs events in the order of time, without waiting for it.
type clock struct {
	now    time.Duration
	agenda agenda
	order  int
}

// after does something a while from now.
func (c *clock) after(d time.Duration, do func()) {
	c.order++
	heap.Push(&c.agenda, event{at: c.now + max(d, 0), order: c.order, do: do})
}

// step runs the next event; false if there is none.
func (c *clock) step() bool {
	if len(c.agenda) == 0 {
		return false
	}
	e := heap.Pop(&c.agenda).(event)
	c.now = e.at
	e.do()
	return true
}

// dice are one part's source of chance. Every part has its own, seeded by its
// name, so that taking one part out of a plan leaves the others' luck alone.
type dice struct{ *rand.Rand }

// newDice returns the dice of a named part.
func newDice(seed uint64, name string, number int) dice {
	h := fnv.New64a()
	// Writing to a hash never fails.
	_, _ = fmt.Fprintf(h, "%s/%d", name, number)
	return dice{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// between returns a duration from low to high; short ones are more likely.
func (d dice) between(low, high time.Duration) time.Duration {
	f := d.Float64()
	return low + time.Duration(f*f*float64(high-low))
}

// chance is true with probability p.
func (d dice) chance(p float64) bool { return d.Float64() < p }
