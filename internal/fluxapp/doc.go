// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fluxapp holds the rules of the FluxApp API: what a spec means, which
// Flux objects it takes, which version runs, and what the objects' own status
// says about the whole. It is pure: no client, no clock and no I/O, so that
// every rule can be shown by a table.
package fluxapp
