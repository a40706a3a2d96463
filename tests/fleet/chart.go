// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/tests/env"
)

// chartFiles are a HelmRelease in the node's folder, always the same, and its chart
// outside of it, which carries the version.
func chartFiles(namespace string, node Node, version string) env.Files {
	dir := "charts/" + node.Name
	return env.Files{
		node.folder() + "/release.yaml": fmt.Sprintf(`apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  namespace: %s
  name: %s
spec:
  interval: 10m
  chart:
    spec:
      chart: ./%s
      interval: 10m
      reconcileStrategy: %s
      sourceRef: {kind: %s, name: %s}
`, namespace, node.Name, dir, sourcev1.ReconcileStrategyRevision, sourcev1.GitRepositoryKind, node.Source),
		dir + "/Chart.yaml":               fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 0.1.0\nappVersion: %q\n", node.Name, version),
		dir + "/templates/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {version: {{ .Chart.AppVersion | quote }}}\n",
	}
}
