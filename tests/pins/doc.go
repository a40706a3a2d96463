// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pins shows on a real control plane who owns a pin: the controller as it is
// shipped, source-controller, and kustomize-controller applying the sources from a
// catalog in Git, against everything that people and machines do to a source.
package pins
