// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster reads Flux objects into the facts that package fleet judges:
// one adapter a kind, and a Reader that lists them all. The controller reads
// through its cache and wfctl through a live client, so both judge by the same
// facts. What only a running process knows (observations, when a pin changed,
// virtual pins) is added by the caller through Local.
package cluster
