// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"github.com/fluxcd/pkg/git"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Revision returns the hash of a Flux revision string in lower case:
// "main@sha1:X", "refs/heads/main@sha1:X", "sha1:X" and "main/X" are all X. It
// is empty ("none", which is the same as nothing) where the string holds no
// hash, so what can't be understood never looks converged.
func Revision(revision string) fleet.Revision {
	hash := strings.ToLower(git.ExtractHashFromRevision(revision).String())
	if !isHex(hash) {
		return ""
	}
	return fleet.Revision(hash)
}

func isHex(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
