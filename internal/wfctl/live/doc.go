// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live shows a rollout as it goes: full screen on a terminal, as lines
// elsewhere. What is drawn is a pure function of the pictures that were read and
// of the size of the screen.
package live
