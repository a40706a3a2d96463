// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fluxapp shows the FluxApp controller on a real API server, under its
// generated roles, with a real source-controller that pulls real charts from an
// OCI registry and a chart repository on loopback. Image-reflector-controller
// and helm-controller, which cannot be built here, are doubles that write the
// status that those controllers write.
package fluxapp
