// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dockerfile reads the Dockerfile with BuildKit's own frontend, which `docker
// build` hands it to: its checks, and what it would have an engine run for each
// platform. It is a module of its own, so that BuildKit stays out of the project's.
package dockerfile
