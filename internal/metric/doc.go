// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metric has the form in which metrics are defined: their collectors and
// their documentation are made from the same definitions.
package metric
