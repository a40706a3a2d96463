// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// components are the strongly connected components of a graph.
type components struct {
	// of numbers the component of each vertex.
	of []int32
	// order lists all vertices so that every successor outside the own
	// component comes earlier, and components are contiguous.
	order []int32
	// start holds where each component begins in order, and the end.
	start []int32
}

// members are the vertices of component c.
func (c *components) members(i int32) []int32 { return c.order[c.start[i]:c.start[i+1]] }

// count is the number of components.
func (c *components) count() int { return len(c.start) - 1 }

// frame is a vertex whose successors are being visited.
type frame struct {
	vertex int32
	next   int32
}

// tarjan is the state of one run of Tarjan's algorithm, without recursion: the
// depth of a fleet must not be bounded by a stack.
type tarjan struct {
	graph   edges
	result  components
	index   []int32 // order of discovery, from 1; 0 is undiscovered
	low     []int32
	open    []int32 // discovered vertices without a component
	calls   []frame
	counter int32
}

// connect finds the strongly connected components of a graph in linear time.
func connect(g edges) components {
	n := g.vertices()
	t := tarjan{
		graph: g,
		result: components{
			of:    make([]int32, n),
			order: make([]int32, 0, n),
			start: make([]int32, 1, n+1),
		},
		index: make([]int32, n),
		low:   make([]int32, n),
	}
	for v := range t.result.of {
		t.result.of[v] = none
	}
	for v := int32(0); v < int32(n); v++ {
		if t.index[v] == 0 {
			t.visit(v)
		}
	}
	return t.result
}

// visit explores everything reachable from the root.
func (t *tarjan) visit(root int32) {
	t.enter(root)
	for len(t.calls) > 0 {
		top := &t.calls[len(t.calls)-1]
		v := top.vertex
		if successors := t.graph.of(v); int(top.next) < len(successors) {
			w := successors[top.next]
			top.next++
			switch {
			case t.index[w] == 0:
				t.enter(w)
			case t.result.of[w] == none:
				t.low[v] = min(t.low[v], t.index[w])
			}
			continue
		}
		t.leave(v)
	}
}

func (t *tarjan) enter(v int32) {
	t.counter++
	t.index[v], t.low[v] = t.counter, t.counter
	t.open = append(t.open, v)
	t.calls = append(t.calls, frame{vertex: v})
}

// leave closes v, and its component if v is the first of it.
func (t *tarjan) leave(v int32) {
	t.calls = t.calls[:len(t.calls)-1]
	if len(t.calls) > 0 {
		parent := t.calls[len(t.calls)-1].vertex
		t.low[parent] = min(t.low[parent], t.low[v])
	}
	if t.low[v] != t.index[v] {
		return
	}
	id := int32(t.result.count())
	for {
		w := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		t.result.of[w] = id
		t.result.order = append(t.result.order, w)
		if w == v {
			break
		}
	}
	t.result.start = append(t.result.start, int32(len(t.result.order)))
}
