// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// maxSnapshot bounds what is read from a file: a snapshot of 2,000 nodes has
// about one MiB.
const maxSnapshot = 64 << 20

// ErrNotSnapshot says that a file holds something else than a snapshot.
var ErrNotSnapshot = errors.New("not a snapshot of wfctl")

// Read reads a snapshot in JSON or YAML. Unknown fields are refused: a snapshot
// that says more than is understood would be shown incompletely.
func Read(r io.Reader) (*Picture, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err != nil {
		return nil, fmt.Errorf("failed to read the snapshot: %w", err)
	}
	if len(data) > maxSnapshot {
		return nil, fmt.Errorf("failed to read the snapshot: larger than %d MiB", maxSnapshot>>20)
	}
	p := &Picture{}
	if err := decode(data, p); err != nil {
		return nil, fmt.Errorf("failed to parse the snapshot: %w: %w", ErrNotSnapshot, err)
	}
	if p.APIVersion != SnapshotAPIVersion || p.Kind != SnapshotKind {
		return nil, fmt.Errorf("failed to parse the snapshot: %w: apiVersion %q, kind %q; expected %q, %q",
			ErrNotSnapshot, p.APIVersion, p.Kind, SnapshotAPIVersion, SnapshotKind)
	}
	if p.Wavefront.Name == "" || p.Taken.IsZero() {
		return nil, fmt.Errorf("failed to parse the snapshot: %w: wavefront.name and taken are required", ErrNotSnapshot)
	}
	p.Replayed = true
	return p, nil
}

// decode reads JSON or YAML. JSON is YAML too, but a large one is read many
// times faster as what it is.
func decode(data []byte, p *Picture) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return yaml.UnmarshalStrict(data, p)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(p)
}
