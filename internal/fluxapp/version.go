// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

const (
	versionField = "spec.chart.version"
	// maxVersion is the CRD's limit, in bytes.
	maxVersion = 128
)

// completeVersion has all three numbers: what helm-controller and
// source-controller take as it is, without looking for a match.
var completeVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// Version is what spec.chart.version asks for: one version, whatever
// satisfies a constraint, or the newest that source-controller finds.
type Version struct {
	text       string
	constraint *semver.Constraints
}

// ParseVersion reads spec.chart.version. Empty text means the default, '*'.
// Errors are *FieldError.
func ParseVersion(text string) (Version, error) {
	if text == "" {
		text = fluxappv1.DefaultVersion
	}
	if text == fluxappv1.LatestVersion {
		return Version{text: text}, nil
	}
	if len(text) > maxVersion {
		return Version{}, versionError(fmt.Sprintf("must be no longer than %d characters", maxVersion))
	}
	if strings.Contains(text, "_") {
		return Version{}, versionError("must not contain a '_': where a registry's tag has one in place of the '+' of a version, write the '+'")
	}
	if completeVersion.MatchString(text) {
		if _, err := parseComplete(text); err != nil {
			return Version{}, versionError(fmt.Sprintf("%q is not a semantic version: %s", text, err))
		}
		return Version{text: text}, nil
	}
	if strings.Contains(text, "+") {
		return Version{}, versionError("may contain a '+' only if it is one complete version, such as 1.2.3+build: build metadata has no order that a constraint could select by")
	}
	constraint, err := semver.NewConstraint(text)
	if err != nil {
		return Version{}, versionError(fmt.Sprintf("%q is neither a semantic version (1.2.3), nor a constraint ('~> 6', '>=1.2 <2', '1.x || 2.x'), nor latest: %s", text, err))
	}
	return Version{text: text, constraint: constraint}, nil
}

// Constrained tells whether one of several versions has to be selected by the
// constraint that Text returns.
func (v Version) Constrained() bool {
	return v.constraint != nil
}

// Latest tells whether source-controller is left to find the newest stable
// version.
func (v Version) Latest() bool {
	return v.text == fluxappv1.LatestVersion
}

// Text returns the version or constraint in the form that a HelmRelease takes.
func (v Version) Text() string {
	if v.Latest() {
		return fluxappv1.DefaultVersion
	}
	return v.text
}

// OfTag returns the chart version that a tag of an OCI registry stands for. It
// is an error if the tag is no semantic version or does not satisfy the
// constraint: a tag that was selected for another constraint, or by other
// rules, is never deployed.
func (v Version) OfTag(tag string) (string, error) {
	text := strings.ReplaceAll(tag, "_", "+")
	version, err := parseComplete(text)
	if err != nil {
		return "", fmt.Errorf("the selected tag %q is not a semantic version: %w", tag, err)
	}
	if v.constraint != nil && !v.constraint.Check(version) {
		return "", fmt.Errorf("the selected tag %q does not satisfy %q", tag, v.text)
	}
	return text, nil
}

// parseComplete accepts no shortened versions: '6.5' is a constraint.
func parseComplete(text string) (*semver.Version, error) {
	return semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
}

func versionError(problem string) error {
	return &FieldError{Field: versionField, Problem: problem}
}
