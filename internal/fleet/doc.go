// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet holds the rules: which nodes form the graph, when a node is
// settled, and which source may move. It is pure: facts go in, an Evaluation
// comes out. It has no client, no clock and no I/O, and it treats revisions as
// opaque values of which it asks only whether two are the same.
package fleet
