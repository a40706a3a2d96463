// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table prints tables and lists of fields for people: aligned by what a
// terminal shows, coloured only when asked, every cell made harmless.
package table
