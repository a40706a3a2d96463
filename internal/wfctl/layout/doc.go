// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package layout draws a dependency graph: as waves or as a tree of text, in the
// languages of Graphviz and mermaid, and as an SVG that needs neither.
package layout
