// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint finds what would bypass or break ordering in a fleet. Each check
// is one small named function in a list; it looks at what was read and returns
// findings that name the object, the reason and the fix.
package lint
