// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain turns a picture into sentences: why a node stands where it
// does, what the root cause is, and which command or edit helps.
package explain
