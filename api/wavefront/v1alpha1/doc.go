// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains the API of the group wavefront.as-code.io: ordered
// updates for fleets on Flux CD.
//
// +kubebuilder:object:generate=true
// +groupName=wavefront.as-code.io
package v1alpha1
