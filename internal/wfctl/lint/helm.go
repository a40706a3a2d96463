// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

var helmChecks = []Check{
	{"chart-floats", picture.Error, "HelmReleases of a node whose chart floats: a HelmRepository range, a mutable OCI tag or an unmanaged source", chartFloats},
	{"chart-version", picture.Warning, "charts from a managed source with reconcileStrategy ChartVersion: a change without a raised version settles and is never deployed", chartVersion},
	{"values-from", picture.Info, "HelmReleases with valuesFrom: its content is invisible to the gate", valuesFrom},
}

func releaseRef(hr *helmv2.HelmRelease) picture.Ref {
	return picture.Ref{Kind: helmv2.HelmReleaseKind, Namespace: hr.Namespace, Name: hr.Name}
}

func chartFloats(f *Fleet, report report) {
	f.releases(func(_ fleet.ID, hr *helmv2.HelmRelease) {
		if why, fix := floating(f, hr); why != "" {
			report(releaseRef(hr), why, fix)
		}
	})
}

// floating says why the release's chart can change without its node's pin.
func floating(f *Fleet, hr *helmv2.HelmRelease) (why, fix string) {
	kind, namespace, name, version := chartOrigin(f, hr)
	switch kind {
	case sourcev1.HelmRepositoryKind:
		if exact(version) {
			return "", ""
		}
		return fmt.Sprintf("its chart version %q is a range over HelmRepository %s/%s: new charts are deployed out of order", version, namespace, name),
			"name an exact version in Git"
	case sourcev1.OCIRepositoryKind:
		if tag, fixed := ociTag(f, namespace, name); !fixed {
			return fmt.Sprintf("its chart follows %s of OCIRepository %s/%s, which can change: it is deployed out of order", tag, namespace, name),
				"pin spec.ref.digest of the OCIRepository in Git"
		}
	case sourcev1.GitRepositoryKind:
		if g := f.Read.GitRepository(cluster.GitRepositoryID(namespace, name)); g != nil && !cluster.IsManaged(g) {
			return fmt.Sprintf("its chart comes from GitRepository %s/%s, which lacks the managed label: it floats, out of order", namespace, name),
				"take the chart from the node's own source, or label that GitRepository and a Kustomization on it"
		}
	case "ExternalArtifact", sourcev1.BucketKind:
		return fmt.Sprintf("its chart comes from %s %s/%s, which is not ordered", kind, namespace, name), "take the chart from a managed GitRepository"
	}
	return "", ""
}

// chartOrigin is where the release's chart comes from.
func chartOrigin(f *Fleet, hr *helmv2.HelmRelease) (kind, namespace, name, version string) {
	if r := hr.Spec.ChartRef; r != nil {
		namespace = or(r.Namespace, hr.Namespace)
		if r.Kind != sourcev1.HelmChartKind {
			return r.Kind, namespace, r.Name, ""
		}
		for _, c := range f.Read.HelmCharts {
			if c.Namespace == namespace && c.Name == r.Name {
				return c.Spec.SourceRef.Kind, c.Namespace, c.Spec.SourceRef.Name, c.Spec.Version
			}
		}
		return "", "", "", ""
	}
	if hr.Spec.Chart == nil {
		return "", "", "", ""
	}
	s := hr.Spec.Chart.Spec
	return s.SourceRef.Kind, or(s.SourceRef.Namespace, hr.Namespace), s.SourceRef.Name, or(s.Version, "*")
}

// exact tells whether a version is one version and no range.
func exact(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(version), "="), "v"))
	return err == nil
}

// ociTag renders what an OCIRepository follows, and tells whether that can't
// change.
func ociTag(f *Fleet, namespace, name string) (tag string, fixed bool) {
	for _, o := range f.OCIRepositories {
		if o.Namespace != namespace || o.Name != name {
			continue
		}
		switch r := o.Spec.Reference; {
		case r == nil:
			return "tag latest", false
		case r.Digest != "":
			return "digest " + r.Digest, true
		case r.SemVer != "":
			return "semver " + r.SemVer, false
		default:
			return "tag " + or(r.Tag, "latest"), false
		}
	}
	return "", true
}

func chartVersion(f *Fleet, report report) {
	f.releases(func(_ fleet.ID, hr *helmv2.HelmRelease) {
		kind, namespace, name, _ := chartOrigin(f, hr)
		if kind != sourcev1.GitRepositoryKind || strategy(f, hr) == sourcev1.ReconcileStrategyRevision {
			return
		}
		if g := f.Read.GitRepository(cluster.GitRepositoryID(namespace, name)); g == nil || !cluster.IsManaged(g) {
			return
		}
		report(releaseRef(hr), "its chart is built by reconcileStrategy ChartVersion: a commit that changes the chart without raising its version is admitted and settles, and is never deployed",
			"set spec.chart.spec.reconcileStrategy: Revision in Git")
	})
}

func strategy(f *Fleet, hr *helmv2.HelmRelease) string {
	if hr.Spec.Chart != nil {
		return hr.Spec.Chart.Spec.ReconcileStrategy
	}
	for _, c := range f.Read.HelmCharts {
		if r := hr.Spec.ChartRef; r != nil && c.Name == r.Name && c.Namespace == or(r.Namespace, hr.Namespace) {
			return c.Spec.ReconcileStrategy
		}
	}
	return ""
}

func valuesFrom(f *Fleet, report report) {
	f.releases(func(_ fleet.ID, hr *helmv2.HelmRelease) {
		if len(hr.Spec.ValuesFrom) > 0 {
			report(releaseRef(hr), "valuesFrom takes values from ConfigMaps or Secrets: they change what is deployed without a commit, ungated",
				"keep values in the repository (spec.values) where the order of their changes matters")
		}
	})
}
