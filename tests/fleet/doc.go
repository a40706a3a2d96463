// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testfleet makes fleets on a control plane of tests/env: repositories with
// workloads in them, the GitRepositories and Kustomizations that deploy them, and a
// stand-in for the controller that would bring the workloads up, so that a commit says
// how long its rollout takes and how it ends. A Timeline proves in which order things
// happened.
package testfleet
