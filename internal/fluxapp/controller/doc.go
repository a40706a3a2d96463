// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles FluxApps: it observes the Flux objects of each,
// has package fluxapp decide what they should be and what they say, has package
// owned bring them about, and records the result.
package controller
