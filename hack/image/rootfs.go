// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificates is where the bundle of root certificates stands.
const certificates = "etc/ssl/certs/ca-certificates.crt"

// file is an entry of the root file system; a folder has no content.
type file struct {
	path    string
	mode    int64
	content []byte
}

// rootfs is all there is beside the manager: who nobody is, the authorities that
// Mozilla trusts (at the version of go.sum), and a folder for temporary files.
func rootfs(manager []byte) []file {
	return []file{
		{path: "etc/", mode: 0o755},
		{path: "etc/group", mode: 0o644, content: []byte("nobody:x:65534:\n")},
		{path: "etc/passwd", mode: 0o644, content: []byte("nobody:x:65534:65534:nobody:/:/sbin/nologin\n")},
		{path: "etc/ssl/", mode: 0o755},
		{path: "etc/ssl/certs/", mode: 0o755},
		{path: certificates, mode: 0o644, content: roots()},
		{path: "tmp/", mode: 0o1777},
		{path: "usr/", mode: 0o755},
		{path: "usr/local/", mode: 0o755},
		{path: "usr/local/bin/", mode: 0o755},
		{path: entrypoint[1:], mode: 0o755, content: manager},
	}
}

// roots encodes the root certificates, without those that are trusted only under a
// constraint that a bundle can't express.
func roots() []byte {
	var encoded bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		// A write to a buffer does not fail.
		_ = pem.Encode(&encoded, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return encoded.Bytes()
}

// layerOf packs files into a layer that depends on nothing but its arguments.
func layerOf(files []file, modified time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content)),
			ModTime: modified, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(f.path, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("failed to pack %q: %w", f.path, err)
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, fmt.Errorf("failed to pack %q: %w", f.path, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("failed to pack the layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}
