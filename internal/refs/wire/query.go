// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// delimiter separates the capabilities of a version 2 request from its
// arguments; go-git's encoder does not know it.
const delimiter = "0001"

// Ref is one ref of an answer.
type Ref struct {
	// Name is the full name.
	Name string
	// Hash is the object that the ref names: 40 lower-case hexadecimal digits.
	Hash string
	// Peeled is the commit behind an annotated tag; empty otherwise.
	Peeled string
	// Target is the ref that a symbolic ref stands for; empty otherwise.
	Target string
}

// Commit is the commit that the ref leads to.
func (r Ref) Commit() string {
	if r.Peeled != "" {
		return r.Peeled
	}
	return r.Hash
}

// Query says which refs are wanted: those of Names, or all below Prefix.
type Query struct {
	// Names are full names. Reading stops when all have been found.
	Names []string
	// Prefix selects every ref whose name starts with it; empty selects none.
	Prefix string
	// Most is how many refs of Prefix are taken before the answer is too large.
	Most int
}

// WriteRequest writes the ls-refs request of a query. It sends no capabilities:
// a server may refuse those that it did not offer, and all arguments used here
// exist since the first release of version 2.
func WriteRequest(w io.Writer, q Query) error {
	e := pktline.NewEncoder(w)
	if err := e.EncodeString("command=ls-refs\n"); err != nil {
		return fmt.Errorf("failed to write the command: %w", err)
	}
	if _, err := io.WriteString(w, delimiter); err != nil {
		return fmt.Errorf("failed to write the delimiter: %w", err)
	}
	arguments := []string{"peel\n", "symrefs\n"}
	for _, name := range q.Names {
		arguments = append(arguments, "ref-prefix "+name+"\n")
	}
	if q.Prefix != "" {
		arguments = append(arguments, "ref-prefix "+q.Prefix+"\n")
	}
	if err := e.EncodeString(arguments...); err != nil {
		return fmt.Errorf("failed to write the arguments: %w", err)
	}
	if err := e.Flush(); err != nil {
		return fmt.Errorf("failed to end the request: %w", err)
	}
	return nil
}

// collector gathers what a query wants.
type collector struct {
	query   Query
	missing int
	refs    []Ref
}

func newCollector(q Query) *collector {
	return &collector{query: q, missing: len(q.Names)}
}

// wants tells whether the query asks for a name, without keeping it.
func (c *collector) wants(name []byte) bool {
	for _, n := range c.query.Names {
		if n == string(name) {
			return true
		}
	}
	prefix := c.query.Prefix
	return prefix != "" && len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix
}

// add takes a wanted ref. Of a name that comes twice the first one counts.
func (c *collector) add(r Ref) error {
	if c.find(r.Name) != nil {
		return nil
	}
	if slices.Contains(c.query.Names, r.Name) {
		c.missing--
	} else if len(c.refs) >= c.query.Most {
		return fault.New(fault.TooLarge, fmt.Sprintf("more than %d refs", c.query.Most))
	}
	c.refs = append(c.refs, r)
	return nil
}

// find returns a ref that was taken. Answers of many refs come from a prefix,
// where a name's earlier line can only be the last one.
func (c *collector) find(name string) *Ref {
	if len(c.query.Names) == 0 {
		if n := len(c.refs); n > 0 && c.refs[n-1].Name == name {
			return &c.refs[n-1]
		}
		return nil
	}
	for i := range c.refs {
		if c.refs[i].Name == name {
			return &c.refs[i]
		}
	}
	return nil
}

// complete tells that nothing more can be wanted.
func (c *collector) complete() bool { return c.query.Prefix == "" && c.missing == 0 }
