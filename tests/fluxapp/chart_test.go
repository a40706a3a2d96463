// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"

	"sigs.k8s.io/yaml"
)

// chart is a minimal Helm chart.
type chart struct {
	name, version string
}

// metadata is what the doubles read of a chart.
type metadata struct {
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"`
	Version    string `json:"version"`
}

func (c chart) metadata() []byte {
	content, err := yaml.Marshal(metadata{APIVersion: "v2", Name: c.name, Version: c.version})
	if err != nil {
		panic(err)
	}
	return content
}

// archive packs the chart as 'helm package' does.
func (c chart) archive() []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{"Chart.yaml", c.metadata()},
		{"values.yaml", []byte("replicas: 1\n")},
		{"templates/configmap.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n")},
	} {
		header := &tar.Header{Name: path.Join(c.name, file.name), Mode: 0o644, Size: int64(len(file.content))}
		if err := files.WriteHeader(header); err != nil {
			panic(err)
		}
		if _, err := files.Write(file.content); err != nil {
			panic(err)
		}
	}
	if err := files.Close(); err != nil {
		panic(err)
	}
	if err := zipped.Close(); err != nil {
		panic(err)
	}
	return packed.Bytes()
}

// readChart returns the metadata of a packed chart.
func readChart(packed io.Reader) (metadata, error) {
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return metadata{}, err
	}
	files := tar.NewReader(zipped)
	for {
		header, err := files.Next()
		if err != nil {
			return metadata{}, fmt.Errorf("failed to find Chart.yaml: %w", err)
		}
		if path.Base(header.Name) != "Chart.yaml" {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return metadata{}, err
		}
		var found metadata
		return found, yaml.Unmarshal(content, &found)
	}
}
