// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller holds the reconcilers: thin shells that observe the
// cluster, let fleet decide, act through pin and record through report.
//
// The Wavefront reconciler judges a whole fleet in one pass. The source
// reconciler reacts to what happens to a single pin (a hand-pin, a pin that
// vanishes) at once, without waiting for a pass.
package controller
