// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
)

// Limits of one answer.
type Limits struct {
	// Bytes that are read at most.
	Bytes int64
	// Lines that are read at most.
	Lines int
}

// DefaultLimits leave room for about 400,000 refs of a server that can only
// advertise them all. One with more can still be read where the ref comes early
// enough, and branches come first.
var DefaultLimits = Limits{Bytes: 32 << 20, Lines: 500_000}

// errLimit is what the reader below a Reader returns once the bytes are used up.
var errLimit = errors.New("limit reached")

// capped returns errLimit where more than left bytes are asked for.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLimit
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	c.left -= int64(n)
	return n, err
}

// Reader reads the packet-lines of one server. Its errors are *fault.Error where
// the server is at fault, and wrap the reader's own error otherwise.
type Reader struct {
	lines *pktline.Scanner
	left  int
	most  int
}

// NewReader reads from r within limits.
func NewReader(r io.Reader, l Limits) *Reader {
	return &Reader{
		lines: pktline.NewScanner(bufio.NewReader(&capped{r: r, left: l.Bytes})),
		left:  l.Lines, most: l.Lines,
	}
}

// next returns the next line without its line feed, valid until the following
// call; nil is a flush. The end of the stream is an error: every answer ends with
// a flush.
func (r *Reader) next() ([]byte, error) {
	if r.left == 0 {
		return nil, fault.New(fault.TooLarge, fmt.Sprintf("more than %d lines", r.most))
	}
	r.left--
	if r.lines.Scan() {
		line := r.lines.Bytes()
		if len(line) == 0 {
			return nil, nil
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
	return nil, lineError(r.lines.Err())
}

func lineError(err error) error {
	var refused *pktline.ErrorLine
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.Protocol, "the answer breaks off")
	case errors.Is(err, errLimit):
		return fault.New(fault.TooLarge, "the answer exceeds the limit of one listing")
	case errors.Is(err, pktline.ErrInvalidPktLen):
		return fault.New(fault.Protocol, "the answer is not in packet-lines")
	case errors.As(err, &refused):
		return fault.New(fault.Protocol, "the server answered with an error line")
	}
	return fmt.Errorf("failed to read the answer: %w", err)
}

// Refs reads the answer to an ls-refs request up to its end, or until all that
// the query names has been found.
func (r *Reader) Refs(q Query) ([]Ref, error) {
	c := newCollector(q)
	for !c.complete() {
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		if line == nil {
			break
		}
		if err := c.lsRefs(line); err != nil {
			return nil, err
		}
	}
	return c.refs, nil
}

// lsRefs takes one line of an ls-refs answer: "hash name", then attributes.
func (c *collector) lsRefs(line []byte) error {
	hash, rest, _ := bytes.Cut(line, []byte(" "))
	name, attributes, _ := bytes.Cut(rest, []byte(" "))
	if string(hash) == "unborn" {
		return nil
	}
	if err := checkHash(hash); err != nil {
		return err
	}
	if !c.wants(name) {
		return nil
	}
	ref := Ref{Name: string(name), Hash: string(hash)}
	for attribute := range bytes.FieldsSeq(attributes) {
		key, value, _ := bytes.Cut(attribute, []byte(":"))
		switch string(key) {
		case "symref-target":
			ref.Target = string(value)
		case "peeled":
			if err := checkHash(value); err != nil {
				return err
			}
			ref.Peeled = string(value)
		}
	}
	return c.add(ref)
}

// The lengths of object names in hexadecimal digits.
const (
	sha1Digits   = 40
	sha256Digits = 64
)

// checkHash accepts the name of a SHA-1 object. SHA-256 is told from garbage,
// because Flux's go-git can't fetch such a repository either.
func checkHash(hash []byte) error {
	for _, b := range hash {
		if (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return fault.New(fault.Protocol, "an object name is not hexadecimal")
		}
	}
	switch len(hash) {
	case sha1Digits:
		return nil
	case sha256Digits:
		return errSHA256()
	}
	return fault.New(fault.Protocol, "an object name has the wrong length")
}

func errSHA256() error {
	return fault.New(fault.Unsupported, "the repository uses SHA-256, which Flux can't fetch")
}
