// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs tests the documentation against what it describes: the API's
// fields and constants, the manager's flags, links, and every command block, which
// is run. There is nothing here to import.
package docs
