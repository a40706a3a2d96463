// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package example pushes the fleet of docs/examples/fleet to the git server of a test's
// control plane, as it is but for the address of the server.
package example

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/isometry/wavefront-controller/tests/env"
)

const (
	// Folder is where the example stands below the root of the work tree.
	Folder = "docs/examples/fleet"
	// ClusterPath is what Flux syncs of the cluster's repository.
	ClusterPath = "clusters/production"
	// Manifest is the Wavefront in the cluster's repository.
	Manifest = "wavefront/fleet.yaml"
	// Namespace is that of the flotillas.
	Namespace = "flotillas"

	publishedBase = "https://git.example.com/fleet"
	repositories  = "repositories/"
)

// Flotillas are the names of the example's, in the order of their dependencies.
var Flotillas = []string{"database", "api", "web"}

// Teams creates and fills the repository of each flotilla.
func Teams(ctx context.Context, root string, server *env.GitServer) (map[string]*env.Repository, error) {
	teams := map[string]*env.Repository{}
	for _, name := range Flotillas {
		repo, err := server.Create(ctx, "fleet/"+name)
		if err != nil {
			return nil, err
		}
		content, err := Files(filepath.Join(root, Folder, repositories, name), "")
		if err != nil {
			return nil, err
		}
		if _, err := repo.Commit(ctx, "main", "First", content); err != nil {
			return nil, err
		}
		teams[name] = repo
	}
	return teams, nil
}

// Cluster is the content of the cluster's repository, with the git server in place of
// the published address.
func Cluster(root string, server *env.GitServer) (env.Files, error) {
	all, err := Files(filepath.Join(root, Folder), "")
	if err != nil {
		return nil, err
	}
	cluster := env.Files{}
	for file, content := range all {
		if !strings.HasPrefix(file, repositories) {
			cluster[file] = strings.ReplaceAll(content, publishedBase, server.URL()+"/fleet")
		}
	}
	return cluster, nil
}

// Files reads a folder as files of a repository; prefix is put before their paths.
func Files(folder, prefix string) (env.Files, error) {
	read := env.Files{}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, file)
		read[path.Join(prefix, filepath.ToSlash(relative))] = string(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("failed to read %q: %w", folder, err)
	}
	return read, nil
}

// Sync is the file gotk-sync.yaml that `flux bootstrap` writes.
func Sync(url, folder, interval string) string {
	return `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: ` + interval + `
  ref:
    branch: main
  url: ` + url + `
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 10m0s
  retryInterval: 2s
  path: ./` + folder + `
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
`
}
