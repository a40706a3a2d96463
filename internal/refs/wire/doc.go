// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire speaks as much of the git protocol as listing refs takes: the
// ls-refs command of version 2, and the advertisement of versions 0 and 1. It
// reads answers as a stream, keeps only what was asked for, stops when it has
// it, and never reads more bytes or lines than its limits allow, since whatever
// it reads was written by somebody else.
package wire
