// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "strings"

// names holds IDs side by side, as text that compares as the IDs do: kind and
// namespace, each with an end, and the name. Name i is text[from[i]:from[i+1]].
type names struct {
	text []byte
	from []int32

	kind      string
	namespace string
	// prefix is that of kind and namespace, which neighbours share.
	prefix []byte
}

// newNames makes room for n names.
func newNames(n int) names {
	const usual = 48
	return names{
		text: make([]byte, 0, usual*n), from: make([]int32, 1, n+1),
		prefix: appendField(appendField(nil, ""), ""),
	}
}

// turnTo makes the prefix that of the ID and tells whether it had to change.
func (n *names) turnTo(id *ID) bool {
	if id.Namespace == n.namespace && id.Kind == n.kind {
		return false
	}
	n.kind, n.namespace = id.Kind, id.Namespace
	n.prefix = appendField(appendField(n.prefix[:0], id.Kind), id.Namespace)
	return true
}

// appendField appends a field and its end, which is less than whatever may stand
// there in a longer field.
func appendField(text []byte, field string) []byte {
	for {
		zero := strings.IndexByte(field, 0)
		if zero < 0 {
			return append(append(text, field...), 0, 1)
		}
		text = append(append(text, field[:zero]...), 0, 0xff)
		field = field[zero+1:]
	}
}

// add appends the present prefix with a name.
func (n *names) add(name string) {
	n.text = append(append(n.text, n.prefix...), name...)
	n.from = append(n.from, int32(len(n.text)))
}

// count is how many names there are.
func (n *names) count() int { return len(n.from) - 1 }

// name returns one of them.
func (n *names) name(place int32) []byte { return n.text[n.from[place]:n.from[place+1]] }

// is tells whether the name at the place is the present prefix with the name.
func (n *names) is(place int32, name string) bool {
	text, prefix := n.name(place), len(n.prefix)
	return len(text) == prefix+len(name) && string(text[prefix:]) == name && string(text[:prefix]) == string(n.prefix)
}
