// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owned keeps the objects that belong to another object: applied by
// server-side apply so that others may own the rest of their fields, controlled
// by an owner reference, listed in an inventory, and deleted when no longer
// needed. It knows no kind; the owner and the objects are given to it.
package owned
