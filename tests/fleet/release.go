// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/isometry/wavefront-controller/tests/env"
)

// Release is what a commit brings to one node: a new version of its workload, which
// comes up at once unless said otherwise.
type Release struct {
	// Version is what the workload shows as its own; default the time of the push.
	Version string
	// Delay is how long the workload takes to come up, rounded up to the five seconds
	// between the looks of kustomize-controller.
	Delay time.Duration
	// Fail has the workload never come up: the node turns unhealthy.
	Fail bool
	// Invalid has the folder hold something that can't be built: the node fails
	// without anything being applied.
	Invalid bool
	// ChartOnly changes the chart of a node with Node.Chart, and nothing that
	// kustomize-controller applies. The other fields but Version don't count.
	ChartOnly bool
}

// Push commits a release of one node to its source, and returns the commit's hash.
func (f *Fleet) Push(ctx context.Context, node string, release Release) (string, error) {
	n, ok := f.Node(node)
	if !ok {
		return "", fmt.Errorf("node %q: %w", node, ErrUnknown)
	}
	return f.PushSource(ctx, n.Source, map[string]Release{node: release})
}

// PushSource commits releases of several nodes of one source in one commit, and returns
// its hash.
func (f *Fleet) PushSource(ctx context.Context, sourceName string, releases map[string]Release) (string, error) {
	s, err := f.source(sourceName)
	if err != nil {
		return "", err
	}
	files, message := f.files(releases)
	return s.repo.Commit(ctx, s.branch, message, files)
}

// files renders releases for a commit.
func (f *Fleet) files(releases map[string]Release) (env.Files, string) {
	files := env.Files{}
	var messages []string
	for _, node := range slices.Sorted(maps.Keys(releases)) {
		release := releases[node]
		if release.Version == "" {
			release.Version = time.Now().UTC().Format(time.RFC3339Nano)
		}
		if !release.ChartOnly {
			files[node+"/workload.yaml"] = manifest(f.namespace, node, release, f.operator.isHeld(node))
		}
		if n, _ := f.Node(node); n.Chart {
			maps.Copy(files, chartFiles(f.namespace, n, release.Version))
		}
		messages = append(messages, fmt.Sprintf("Release %s %s", node, release.Version))
	}
	return files, strings.Join(messages, "\n")
}
