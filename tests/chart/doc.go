// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart with Helm's own library: what it renders is
// what the overlays build, and it installs, upgrades and uninstalls on a real
// control plane. It is a module of its own, so that Helm stays out of the project's.
package chart
