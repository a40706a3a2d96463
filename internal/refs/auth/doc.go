// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auth turns what a GitRepository refers to (Secrets, a provider, a
// ServiceAccount, a proxy) into credentials, by the rules and through the
// libraries of source-controller, and with its verdict on what can't work. It
// reads Secrets with get, when they are needed.
package auth
