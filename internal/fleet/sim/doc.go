// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sim is a model of everything around the rules: git hosts whose
// replicas lag, source-, kustomize- and helm-controller with arbitrary delays
// and failures, informers that lag independently of each other, humans, and a
// controller that observes, decides, writes and crashes. Only tests use it.
//
// A run is a pure function of its Plan. It checks the invariants of README.md at
// every step and ends at the first Violation; Shrink then removes whatever the
// violation does not need.
package sim
