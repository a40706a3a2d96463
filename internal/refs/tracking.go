// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"net/url"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
)

// branches is where the refs live that a commit pin can hold: Flux fetches
// branch heads only once spec.ref.commit is set.
const branches = "refs/heads/"

// Tracking returns the full name of the ref that a source tracks, by Flux's
// precedence: name, tag, semver, branch, and refs/heads/master where none is
// set. Only branches are sequenced. For anything else the name is empty, and
// style renders what Git asks for ("semver: >=1.0.0").
func Tracking(ref *sourcev1.GitRepositoryRef) (name, style string) {
	switch {
	case ref == nil:
		return branches + "master", ""
	case ref.Name != "":
		if !strings.HasPrefix(ref.Name, branches) || !validName(ref.Name) {
			return "", "name: " + ref.Name
		}
		return ref.Name, ""
	case ref.Tag != "":
		return "", "tag: " + ref.Tag
	case ref.SemVer != "":
		return "", "semver: " + ref.SemVer
	case ref.Branch != "":
		if !validName(branches + ref.Branch) {
			return "", "branch: " + ref.Branch
		}
		return branches + ref.Branch, ""
	default:
		return branches + "master", ""
	}
}

// validName tells whether a ref name may be put into a request: git's own rules
// (git-check-ref-format), as far as they keep a name on one line and in one
// piece.
func validName(name string) bool {
	if len(name) > 1024 || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".") ||
		strings.HasSuffix(name, ".lock") || strings.Contains(name, "..") ||
		strings.Contains(name, "//") || strings.Contains(name, "@{") || strings.Contains(name, "/.") {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r)
	}) < 0
}

// PrintableURL renders a repository's URL without userinfo, query and fragment,
// for every place where somebody may read it. What does not parse is not shown.
func PrintableURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(invalid URL)"
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}
