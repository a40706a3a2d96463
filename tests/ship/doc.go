// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ship tests what is shipped: the overlays under config, the chart, the
// image's build, the installers and the workflows. It builds and runs them; there
// is nothing here to import.
package ship
