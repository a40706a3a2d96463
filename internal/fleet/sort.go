// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
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

// sortKey is a place with the beginning of what tells its ID from others, so
// that most comparisons stay within one piece of memory.
type sortKey struct {
	high, low uint64
	place     int32
}

// sortByID sorts places by their IDs.
func sortByID(places []int32, id func(int32) *ID) {
	keys := make([]sortKey, len(places))
	text := distinguishing(places, id)
	skip := commonPrefix(places, text)
	for i, p := range places {
		keys[i] = newSortKey(p, text(p)[skip:])
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		if c := cmp.Compare(a.high, b.high); c != 0 {
			return c
		}
		if c := cmp.Compare(a.low, b.low); c != 0 {
			return c
		}
		return compareIDs(id(a.place), id(b.place))
	})
	for i := range keys {
		places[i] = keys[i].place
	}
}

// newSortKey takes the beginning of a text, filled up with zeros: of two that
// differ, the smaller belongs to the smaller text.
func newSortKey(place int32, text string) sortKey {
	var b [16]byte
	copy(b[:], text)
	return sortKey{high: binary.BigEndian.Uint64(b[:8]), low: binary.BigEndian.Uint64(b[8:]), place: place}
}

// distinguishing returns the first field of the IDs that is not the same in all
// of them.
func distinguishing(places []int32, id func(int32) *ID) func(int32) string {
	kind, namespace := true, true
	for _, p := range places {
		first := id(places[0])
		kind = kind && id(p).Kind == first.Kind
		namespace = namespace && id(p).Namespace == first.Namespace
	}
	switch {
	case !kind:
		return func(p int32) string { return id(p).Kind }
	case !namespace:
		return func(p int32) string { return id(p).Namespace }
	}
	return func(p int32) string { return id(p).Name }
}

// commonPrefix is how many bytes all texts begin with.
func commonPrefix(places []int32, text func(int32) string) int {
	if len(places) == 0 {
		return 0
	}
	first := text(places[0])
	common := len(first)
	for _, p := range places {
		other := text(p)
		common = min(common, len(other))
		for common > 0 && other[:common] != first[:common] {
			common--
		}
	}
	return common
}
