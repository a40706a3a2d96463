// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package escape makes strings that come from a cluster or a file harmless in
// each language that wfctl writes: terminals, dot, mermaid, XML and CSV. It is
// the only place that does so; everything that renders goes through it.
package escape
