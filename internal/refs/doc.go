// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refs observes the tracking refs of sources: which commit a branch has
// at its git host, when that was asked and when it was answered. It decides
// nothing. An Observer keeps the observations of the whole process fresh and is
// polite about it; a Lister asks once. Both read refs with the credentials that
// source-controller would use, and neither ever clones.
//
// The Observer needs from the API server, uncached: get on secrets, and, where
// object-level workload identity is enabled, get on serviceaccounts and create
// on serviceaccounts/token.
package refs
