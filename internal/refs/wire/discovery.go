// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"strings"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// Discovery is what a server says first, unasked.
type Discovery struct {
	// Version of the protocol: 0, 1 or 2.
	Version int
	// Refs are those of the query that a server of version 0 or 1 advertised. A
	// server of version 2 advertises none and waits for a request.
	Refs []Ref
}

// Discover reads what a server says first: the capabilities of version 2 up to
// their end, or the advertisement of version 0 or 1 up to its end or until all
// that the query names has been found.
func (r *Reader) Discover(q Query) (Discovery, error) {
	line, err := r.next()
	if err == nil && bytes.HasPrefix(line, []byte("# service=")) {
		// Over HTTP the service is announced first, ended by a flush of its own.
		if line, err = r.next(); err == nil && line == nil {
			line, err = r.next()
		}
	}
	if err != nil {
		return Discovery{}, err
	}
	switch string(line) {
	case "version 2":
		return Discovery{Version: 2}, r.capabilities()
	case "version 1":
		if line, err = r.next(); err != nil {
			return Discovery{}, err
		}
		refs, err := r.advertisement(line, q)
		return Discovery{Version: 1, Refs: refs}, err
	}
	refs, err := r.advertisement(line, q)
	return Discovery{Refs: refs}, err
}

// capabilities reads those of version 2 and checks that refs can be listed.
func (r *Reader) capabilities() error {
	lists := false
	for {
		line, err := r.next()
		switch {
		case err != nil:
			return err
		case line == nil && !lists:
			return fault.New(fault.Unsupported, "the server offers no ls-refs")
		case line == nil:
			return nil
		}
		key, value, _ := bytes.Cut(line, []byte("="))
		switch {
		case string(key) == "ls-refs":
			lists = true
		case string(key) == "object-format" && string(value) == "sha256":
			return errSHA256()
		}
	}
}

// advertisement reads the refs of version 0 or 1, from its first line on.
func (r *Reader) advertisement(line []byte, q Query) ([]Ref, error) {
	if line == nil {
		// An empty repository, as older servers announce it.
		return nil, nil
	}
	first, capabilities, _ := bytes.Cut(line, []byte{0})
	symbolic, err := symbolicRefs(string(capabilities))
	if err != nil {
		return nil, err
	}
	c := newCollector(q)
	for line = first; line != nil; {
		tag, err := c.advertised(line, symbolic)
		if err != nil {
			return nil, err
		}
		if c.complete() && !tag {
			return c.refs, nil
		}
		if line, err = r.next(); err != nil {
			return nil, err
		}
	}
	return c.refs, nil
}

// symbolicRefs reads the targets of symbolic refs from the capabilities of
// version 0, and refuses SHA-256.
func symbolicRefs(capabilities string) (map[string]string, error) {
	targets := map[string]string{}
	for capability := range strings.FieldsSeq(capabilities) {
		key, value, _ := strings.Cut(capability, "=")
		switch {
		case key == "object-format" && value == "sha256":
			return nil, errSHA256()
		case key == "symref":
			name, target, _ := strings.Cut(value, ":")
			targets[name] = target
		}
	}
	return targets, nil
}

// The suffix of the line that tells what an annotated tag stands for.
const peeled = "^{}"

// advertised takes one line of an advertisement. It tells whether the next line
// may belong to the same ref, as it does for tags.
func (c *collector) advertised(line []byte, symbolic map[string]string) (bool, error) {
	hash, name, _ := bytes.Cut(line, []byte(" "))
	if string(hash) == "shallow" {
		return false, nil
	}
	if err := checkHash(hash); err != nil {
		return false, err
	}
	if base, isPeeled := bytes.CutSuffix(name, []byte(peeled)); isPeeled {
		if c.wants(base) {
			if ref := c.find(string(base)); ref != nil && ref.Peeled == "" {
				ref.Peeled = string(hash)
			}
		}
		return false, nil
	}
	if !c.wants(name) {
		return false, nil
	}
	ref := Ref{Name: string(name), Hash: string(hash), Target: symbolic[string(name)]}
	return bytes.HasPrefix(name, []byte("refs/tags/")), c.add(ref)
}
