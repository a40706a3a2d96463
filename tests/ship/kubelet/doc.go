// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubelet stands in for what a test's control plane lacks between a
// Deployment and a running program. The Deployment of the project's controller is
// run as a process, under its ServiceAccount, with the container's arguments and
// environment, and is available while the process is ready; any other Deployment is
// available at once.
package kubelet
