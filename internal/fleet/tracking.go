// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "strings"

const (
	headsPrefix = "refs/heads/"
	// defaultBranch is what Flux checks out where nothing is asked for.
	defaultBranch = "master"
)

// TrackingRef tells which reference a source tracks, from the fields of its
// spec.ref, in Flux's precedence: name, tag, semver, branch, and master where
// none is set. Only branches are sequenced, because with a commit pin Flux
// fetches branch heads alone: for those ref is the full reference name
// ("refs/heads/main") and style is empty. For everything else ref is empty and
// style renders what is asked for ("semver: 1.x").
func TrackingRef(name, tag, semver, branch string) (ref, style string) {
	switch {
	case name != "":
		if short, ok := strings.CutPrefix(name, headsPrefix); ok && short != "" {
			return name, ""
		}
		return "", "name: " + name
	case tag != "":
		return "", "tag: " + tag
	case semver != "":
		return "", "semver: " + semver
	case branch != "":
		return headsPrefix + branch, ""
	}
	return headsPrefix + defaultBranch, ""
}
