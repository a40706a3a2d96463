// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hand writes to one source for a person: it pins, releases, floats and
// admits. Every write is guarded by the version of the object that the plan had
// read; what changed in between is an error, never overwritten.
package hand
