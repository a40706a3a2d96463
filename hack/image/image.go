// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// entrypoint is where the manager stands in the image, as in the images of
	// Flux's controllers.
	entrypoint = "/usr/local/bin/wavefront-controller"
	// user is nobody, numeric so that runAsNonRoot can be checked.
	user = "65534:65534"
)

// platformImage is the image for one platform.
type platformImage struct {
	platform v1.Platform
	image    v1.Image
}

func buildAll(ctx context.Context, opts options) ([]platformImage, error) {
	var images []platformImage
	for _, platform := range opts.platforms {
		image, err := buildOne(ctx, opts, platform)
		if err != nil {
			return nil, err
		}
		images = append(images, platformImage{platform: platform, image: image})
	}
	return images, nil
}

func buildOne(ctx context.Context, opts options, platform v1.Platform) (v1.Image, error) {
	folder, err := os.MkdirTemp("", "wavefront-image-")
	if err != nil {
		return nil, fmt.Errorf("failed to create a folder for %s: %w", platform, err)
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "manager")
	if err := compile(ctx, opts, platform, binary); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("failed to read the manager for %s: %w", platform, err)
	}
	layer, err := layerOf(rootfs(content), opts.created)
	if err != nil {
		return nil, fmt.Errorf("failed to build the layer for %s: %w", platform, err)
	}
	return assemble(layer, opts, platform)
}

// compile builds the main package of the source for a platform. The build is free
// of paths, identifiers and cgo, so that it depends on nothing but its sources and
// the compiler.
func compile(ctx context.Context, opts options, platform v1.Platform, output string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+opts.version, "-o", output, ".")
	cmd.Dir = opts.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("failed to compile the manager for %s: %w", platform, err)
	}
	return nil
}

// assemble puts a layer on an empty base and says how to run it.
func assemble(layer v1.Layer, opts options, platform v1.Platform) (v1.Image, error) {
	image, err := mutate.Append(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1),
		mutate.Addendum{Layer: layer, History: v1.History{
			Created: v1.Time{Time: opts.created}, CreatedBy: "hack/image", Comment: "manager and root certificates",
		}})
	if err != nil {
		return nil, fmt.Errorf("failed to append the layer for %s: %w", platform, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("failed to read the configuration for %s: %w", platform, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = v1.Time{Time: opts.created}
	config.Config.User = user
	config.Config.WorkingDir = "/"
	config.Config.Env = []string{"PATH=/usr/local/bin"}
	config.Config.Entrypoint = []string{entrypoint}
	config.Config.Labels = labels(opts)
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, fmt.Errorf("failed to configure the image for %s: %w", platform, err)
	}
	return image, nil
}

func labels(opts options) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    "wavefront-controller",
		"org.opencontainers.image.source":   "https://github.com/isometry/wavefront-controller",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.version":  opts.version,
	}
	if opts.revision != "" {
		labels["org.opencontainers.image.revision"] = opts.revision
	}
	return labels
}

// indexOf joins the images of all platforms under one digest.
func indexOf(images []platformImage) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image.image,
			Descriptor: v1.Descriptor{Platform: &image.platform},
		})
	}
	return index
}
