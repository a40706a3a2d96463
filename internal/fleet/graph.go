// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

const (
	// none stands for "no vertex".
	none int32 = -1
	// self stands for the judged Wavefront among its peers.
	self int32 = -2
)

// discovery finds the members of the graph among all known nodes. Vertices are
// numbered as they are found; number then gives them their places in the order
// of their IDs.
type discovery struct {
	j *judge
	// known finds existing nodes by their place in Input.Nodes.
	known index
	// absent finds missing nodes; their places come after those.
	absent map[ID]int32
	// missing are the IDs of dependencies that do not exist.
	missing []ID
	// vertex numbers the member at a place of Input.Nodes; none if it is no
	// member.
	vertex []int32
	// found lists members, as places, in order of discovery.
	found []int32
	// parents are the edges in order of discovery, by place.
	parents edges
}

// discover finds the nodes of the graph (design: the graph): the selected ones,
// every other one on a source in scope, and everything reached from them over
// dependsOn; a dependency that does not exist is a missing node.
func (j *judge) discover(scopes []scope) {
	d := discovery{
		j:      j,
		known:  newIndex(len(j.in.Nodes), &j.memory.nodeIDs, &j.memory.nodeSlots),
		absent: map[ID]int32{},
		vertex: make([]int32, len(j.in.Nodes)),
		found:  make([]int32, 0, len(j.in.Nodes)),
	}
	d.parents.from = make([]int32, 1, len(j.in.Nodes)+1)
	d.enter()
	for i := range j.in.Nodes {
		if d.vertex[i] == none && d.member(int32(i), scopes) {
			d.add(int32(i))
		}
	}
	d.closure()
	d.number()
}

// enter makes all nodes known. Of two with one ID, which a cluster does not
// have, the one with the greater UID counts.
func (d *discovery) enter() {
	const duplicate = int32(-3)
	nodes := d.j.in.Nodes
	for i := range nodes {
		d.vertex[i] = none
		other, slot := d.known.enter(&nodes[i].ID)
		switch {
		case other == none:
		case nodes[other].UID < nodes[i].UID:
			d.vertex[other], slot.place = duplicate, int32(i)+1
		default:
			d.vertex[i] = duplicate
		}
	}
}

// member tells whether a node belongs to the graph without an edge to it.
func (d *discovery) member(i int32, scopes []scope) bool {
	if d.j.own[i] {
		return true
	}
	s := d.j.builtFrom[i]
	return s != none && scopes[s].own
}

func (d *discovery) add(place int32) {
	d.vertex[place] = int32(len(d.found))
	d.found = append(d.found, place)
}

// closure follows dependsOn from the members found so far.
func (d *discovery) closure() {
	for next := 0; next < len(d.found); next++ {
		if place := d.found[next]; int(place) < len(d.j.in.Nodes) {
			for i := range d.j.in.Nodes[place].DependsOn {
				d.parents.to = append(d.parents.to, d.place(&d.j.in.Nodes[place].DependsOn[i]))
			}
		}
		d.parents.from = append(d.parents.from, int32(len(d.parents.to)))
	}
}

// place returns where a dependency is, and makes it a member.
func (d *discovery) place(id *ID) int32 {
	place := d.known.at(id)
	if place == none {
		place = d.missingPlace(id)
	}
	if d.vertex[place] == none {
		d.add(place)
	}
	return place
}

// missingPlace returns the place of a node that does not exist.
func (d *discovery) missingPlace(id *ID) int32 {
	place, known := d.absent[*id]
	if !known {
		place = int32(len(d.j.in.Nodes) + len(d.missing))
		d.absent[*id] = place
		d.missing = append(d.missing, *id)
		d.vertex = append(d.vertex, none)
	}
	return place
}

// id returns the ID at a place.
func (d *discovery) id(place int32) *ID {
	if n := len(d.j.in.Nodes); int(place) >= n {
		return &d.missing[int(place)-n]
	}
	return &d.known.ids[place]
}

// number orders the members by ID and hands nodes and edges to the judge.
func (d *discovery) number() {
	places := slices.Clone(d.found)
	sortByID(places, d.id)
	discovered := make([]int32, len(places))
	d.j.nodes = blank(&d.j.memory.nodes, len(places))
	for v, place := range places {
		discovered[v] = d.vertex[place]
		d.j.nodes[v] = node{id: d.id(place), source: none}
		if int(place) < len(d.j.in.Nodes) {
			d.j.nodes[v].in = &d.j.in.Nodes[place]
			d.j.nodes[v].source, d.j.nodes[v].own = d.j.builtFrom[place], d.j.own[place]
		}
	}
	for v, place := range places {
		d.vertex[place] = int32(v)
	}
	parents := edges{from: make([]int32, 1, len(places)+1), to: make([]int32, 0, len(d.parents.to))}
	for _, old := range discovered {
		start := len(parents.to)
		for _, place := range d.parents.of(old) {
			parents.to = append(parents.to, d.vertex[place])
		}
		slices.Sort(parents.to[start:])
		parents.to = parents.to[:start+len(slices.Compact(parents.to[start:]))]
		parents.from = append(parents.from, int32(len(parents.to)))
	}
	d.j.parents = parents
}
