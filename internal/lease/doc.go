// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease tells whether this process may still write. Leader election
// alone is not enough: a process that was frozen wakes up believing whatever it
// believed before, and would carry out what it had decided.
package lease
