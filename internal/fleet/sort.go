// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// compareIDs is ID.Compare with one comparison a field.
func compareIDs(a, b *ID) int {
	if c := strings.Compare(a.Kind, b.Kind); c != 0 {
		return c
	}
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// sortKey is a place with the beginning of what tells its name from others, so
// that most comparisons stay within one piece of memory.
type sortKey struct {
	high, low uint64
	place     int32
}

// order returns the places in the order of their names, and sets the rank of each
// where it is not negative; those that are negative are left out.
func (n *names) order(rank []int32) []int32 {
	order := make([]int32, 0, len(rank))
	for place, r := range rank {
		if r >= 0 {
			order = append(order, int32(place))
		}
	}
	n.sort(order)
	for r, place := range order {
		rank[place] = int32(r)
	}
	return order
}

// sort orders places by their names; of two with one name, by the place.
func (n *names) sort(places []int32) {
	keys := make([]sortKey, len(places))
	skip := n.commonPrefix(places)
	for i, place := range places {
		keys[i] = newSortKey(place, n.name(place)[skip:])
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		switch {
		case a.high != b.high:
			return cmp.Compare(a.high, b.high)
		case a.low != b.low:
			return cmp.Compare(a.low, b.low)
		}
		return cmp.Or(bytes.Compare(n.name(a.place), n.name(b.place)), cmp.Compare(a.place, b.place))
	})
	for i := range keys {
		places[i] = keys[i].place
	}
}

// newSortKey takes the beginning of a text, filled up with zeros: of two that
// differ, the smaller belongs to the smaller text.
func newSortKey(place int32, text []byte) sortKey {
	var b [16]byte
	copy(b[:], text)
	return sortKey{high: binary.BigEndian.Uint64(b[:8]), low: binary.BigEndian.Uint64(b[8:]), place: place}
}

// commonPrefix is how many bytes all names begin with.
func (n *names) commonPrefix(places []int32) int {
	if len(places) == 0 {
		return 0
	}
	first := n.name(places[0])
	common := len(first)
	for _, place := range places {
		other := n.name(place)
		common = min(common, len(other))
		for !bytes.Equal(first[:common], other[:common]) {
			common--
		}
	}
	return common
}
