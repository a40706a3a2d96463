// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "hash/maphash"

// index numbers IDs and finds their numbers. It is an open-addressed hash table
// of places over their packed names: a fleet is looked up edge by edge, and most
// of what that costs is waiting for memory, so everything that is looked at lies
// close together.
type index struct {
	names
	seed  maphash.Seed
	slots []slot
	// prefixHash is the hash of the last prefix: neighbours share one.
	prefixHash uint64
}

// slot holds part of a hash and a place, shifted by one so that zero is empty.
type slot struct {
	hash  uint32
	place int32
}

// newIndex makes an index for up to n places.
func newIndex(n int) index {
	size := 8
	for size < 2*n {
		size *= 2
	}
	x := index{names: newNames(n), seed: maphash.MakeSeed(), slots: make([]slot, size)}
	x.prefixHash = maphash.Bytes(x.seed, x.prefix)
	return x
}

// hash mixes the hashes of the two parts of a name.
func (x *index) hash(id *ID) uint64 {
	if x.turnTo(id) {
		x.prefixHash = maphash.Bytes(x.seed, x.prefix) * 31
	}
	return maphash.String(x.seed, id.Name) ^ x.prefixHash
}

// find returns the slot of the ID: its own, or the empty one where it belongs.
func (x *index) find(id *ID) (*slot, uint32) {
	h := x.hash(id)
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.place == 0 || (s.hash == uint32(h>>32) && x.is(s.place-1, id.Name)) {
			return s, uint32(h >> 32)
		}
	}
}

// at returns the place of the ID; none if it has none.
func (x *index) at(id *ID) int32 {
	s, _ := x.find(id)
	return s.place - 1
}

// enter gives the ID the next place. If it has one already it returns that, and
// the slot to put the next place there instead.
func (x *index) enter(id *ID) (int32, *slot) {
	s, h := x.find(id)
	x.add(id.Name)
	if s.place != 0 {
		return s.place - 1, s
	}
	s.hash, s.place = h, int32(x.count())
	return none, s
}
