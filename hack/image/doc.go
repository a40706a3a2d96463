// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image builds the manager's container image without a container engine:
// it compiles the manager for each platform, lays it out with a bundle of root
// certificates on an empty base, and writes an OCI image layout and an archive that
// `docker load` takes, or pushes to a registry. The same sources give the same
// digest. It is a module of its own, so that what it needs stays out of the
// project's.
package main
