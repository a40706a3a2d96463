// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the FluxApp API: one object that says which chart of a
// registry runs where, from which the Flux objects that do the work are kept.
// +kubebuilder:object:generate=true
// +groupName=apps.kloudy.uk
package v1
