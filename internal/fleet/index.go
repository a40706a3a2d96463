// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "hash/maphash"

// index finds places by ID. It is an open-addressed hash table of places alone:
// the IDs stay where they are, so building one copies no strings and gives the
// garbage collector nothing to scan.
type index struct {
	seed  maphash.Seed
	slots []slot
	// id returns the ID at a place.
	id func(place int32) *ID
}

// slot holds part of a hash and a place, shifted by one so that zero is empty.
type slot struct {
	hash  uint32
	place int32
}

// newIndex makes an index for up to n places.
func newIndex(n int, id func(int32) *ID) index {
	size := 8
	for size < 2*n {
		size *= 2
	}
	return index{seed: maphash.MakeSeed(), slots: make([]slot, size), id: id}
}

// hash mixes the two parts of an ID that differ within a kind.
func (x *index) hash(id *ID) uint64 {
	return maphash.String(x.seed, id.Name) ^ maphash.String(x.seed, id.Namespace)*31
}

// find returns the slot of the ID: its own, or the empty one where it belongs.
func (x *index) find(id *ID) (*slot, uint32) {
	h := x.hash(id)
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.place == 0 || (s.hash == uint32(h>>32) && *x.id(s.place - 1) == *id) {
			return s, uint32(h >> 32)
		}
	}
}

// at returns the place of the ID; none if it has none.
func (x *index) at(id *ID) int32 {
	s, _ := x.find(id)
	return s.place - 1
}

// enter gives the ID a place, unless it has one: then it returns that, and the
// slot to put another there.
func (x *index) enter(id *ID, place int32) (int32, *slot) {
	s, h := x.find(id)
	if s.place != 0 {
		return s.place - 1, s
	}
	s.hash, s.place = h, place+1
	return none, s
}
