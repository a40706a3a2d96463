// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp

import (
	"net/url"
	"regexp"
	"strings"
)

const (
	schemeOCI  = "oci"
	schemeHTTP = "http"
	schemeTLS  = "https"

	repositoryField = "spec.chart.repository"
)

// ociName is the grammar of an OCI repository name (OCI distribution
// specification, "Pulling manifests").
var ociName = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// Repository is the address of a chart, taken apart.
type Repository struct {
	// URL is what the HelmRepository points at: the address without the chart.
	URL string
	// Chart is the chart's name: the last element of the address.
	Chart string
	// Image is the chart as an image repository, 'host/path/chart', which is
	// what an ImageRepository scans. It is empty for a chart repository over
	// HTTP.
	Image string
}

// OCI tells whether the chart is in an OCI registry.
func (r Repository) OCI() bool {
	return r.Image != ""
}

// ParseRepository takes the address of a chart apart. It refuses what the CRD
// refuses, in the same words, for objects that were stored before the rule.
// Errors are *FieldError; they never repeat the address, which may carry a
// password.
func ParseRepository(address string) (Repository, error) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found || (scheme != schemeOCI && scheme != schemeHTTP && scheme != schemeTLS) {
		return Repository{}, repositoryError("must start with oci://, https:// or http://")
	}
	host, path, _ := strings.Cut(rest, "/")
	if strings.Contains(host, "@") {
		return Repository{}, repositoryError("must not carry credentials: keep them in a Secret and name it in spec.secretRef")
	}
	if strings.ContainsAny(rest, "?#") || strings.ContainsFunc(rest, isSpace) {
		return Repository{}, repositoryError("must not contain a query, a fragment or white space")
	}
	if parsed, err := url.Parse(scheme + "://" + host); err != nil || parsed.Hostname() == "" {
		return Repository{}, repositoryError("has no valid host")
	}
	elements := strings.Split(path, "/")
	for _, element := range elements {
		if element == "" || element == "." || element == ".." {
			return Repository{}, repositoryError("names no chart: the last element of its path is the chart's name, as in oci://HOST/PATH/CHART")
		}
	}
	if scheme == schemeOCI {
		if err := checkOCIName(path); err != nil {
			return Repository{}, err
		}
	}
	return assemble(scheme, host, elements), nil
}

func checkOCIName(path string) error {
	if strings.ContainsAny(path, ":@") {
		return repositoryError("must not contain a tag or a digest: spec.chart.version says which version to run")
	}
	if !ociName.MatchString(path) {
		return repositoryError("path must be of lower-case letters and digits with single separators, as OCI registries demand")
	}
	return nil
}

func assemble(scheme, host string, elements []string) Repository {
	last := len(elements) - 1
	parent := strings.Join(append([]string{host}, elements[:last]...), "/")
	repository := Repository{URL: scheme + "://" + parent, Chart: elements[last]}
	if scheme == schemeOCI {
		repository.Image = parent + "/" + repository.Chart
	}
	return repository
}

func isSpace(r rune) bool {
	return r == ' ' || (r >= '\t' && r <= '\r')
}

func repositoryError(problem string) error {
	return &FieldError{Field: repositoryField, Problem: problem}
}
