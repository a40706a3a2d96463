// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "hash/maphash"

// index finds places by ID. It is an open-addressed hash table of places alone;
// the IDs lie beside it in one piece of memory, so that finding one touches
// little, and the garbage collector has little to scan.
type index struct {
	seed  maphash.Seed
	slots []slot
	// ids by place.
	ids []ID
	// namespace is the last that was hashed: neighbours share one.
	namespace     string
	namespaceHash uint64
}

// slot holds part of a hash and a place, shifted by one so that zero is empty.
type slot struct {
	hash  uint32
	place int32
}

// newIndex makes an index for up to n places.
func newIndex(n int, ids *[]ID, slots *[]slot) index {
	size := 8
	for size < 2*n {
		size *= 2
	}
	x := index{seed: maphash.MakeSeed(), slots: blank(slots, size), ids: blank(ids, n)[:0]}
	x.namespaceHash = x.hashNamespace("")
	return x
}

func (x *index) hashNamespace(namespace string) uint64 {
	return maphash.String(x.seed, namespace) * 31
}

// hash mixes the two parts of an ID that differ within a kind.
func (x *index) hash(id *ID) uint64 {
	if id.Namespace != x.namespace {
		x.namespace, x.namespaceHash = id.Namespace, x.hashNamespace(id.Namespace)
	}
	return maphash.String(x.seed, id.Name) ^ x.namespaceHash
}

// find returns the slot of the ID: its own, or the empty one where it belongs.
func (x *index) find(id *ID) (*slot, uint32) {
	h := x.hash(id)
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.place == 0 || (s.hash == uint32(h>>32) && x.ids[s.place-1] == *id) {
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
	x.ids = append(x.ids, *id)
	s, h := x.find(id)
	if s.place != 0 {
		return s.place - 1, s
	}
	s.hash, s.place = h, int32(len(x.ids))
	return none, s
}
