// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wfctl runs the wfctl program against the real control plane, with a
// moving fleet and the shipped controller, under each of the ClusterRoles that
// are shipped for it.
package wfctl
