// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package picture holds the one view of a fleet that every command of wfctl
// renders from, wherever it came from: the status of a Wavefront, a live
// re-derivation through the controller's own rules, or a recorded snapshot.
package picture
