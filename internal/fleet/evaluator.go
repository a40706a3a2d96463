// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// Evaluator evaluates the fleet of one Wavefront pass after pass. It remembers the
// shape of the fleet, for as long as nothing about it changes, and the memory that
// it works in. That never changes what comes out. The zero Evaluator is ready to
// use; it is not safe for concurrent use.
type Evaluator struct {
	known   *topology
	places  places
	scratch scratch
}

// Evaluate is the function Evaluate. Evaluations may share lists with each other:
// none of them may be changed.
func (e *Evaluator) Evaluate(in Input) Evaluation { return e.evaluate(in, 0) }

// survey returns the shape of the Input, and finds the places of its nodes and
// sources.
func (e *Evaluator) survey(in *Input) *topology {
	if e.known == nil || !e.known.recognise(in, &e.places) {
		e.known = survey(in, &e.places)
	}
	return e.known
}
