// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault is the one error of listing refs: a kind that code can switch
// on, and a message that is safe to show anybody. Its messages are built from
// what this project knows, never from what a server, a library or a Secret says,
// so that no credential can get into a status, a log or a metric.
package fault
