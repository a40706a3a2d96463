// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// options say what to build and where to put it.
type options struct {
	// source is the folder of the module to build; its main package is at ".".
	source string
	// image is the reference to name the image by.
	image string
	// platforms to build for, such as linux/amd64.
	platforms []v1.Platform
	// version and revision are baked in.
	version, revision string
	// created is the time of everything in the image.
	created time.Time
	// output is the folder that the layout and the archives are written to.
	output string
	// push pushes the image to the registry of its reference.
	push bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run builds the image and prints its reference by digest to out.
func run(ctx context.Context, args []string, out io.Writer) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	ref, err := name.ParseReference(opts.image, name.WithDefaultTag("latest"))
	if err != nil {
		return fmt.Errorf("failed to parse the flag --image: %w", err)
	}
	images, err := buildAll(ctx, opts)
	if err != nil {
		return err
	}
	index := indexOf(images)
	if err := write(opts.output, ref, index, images); err != nil {
		return err
	}
	if opts.push {
		err := remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			return fmt.Errorf("failed to push %q: %w", ref, err)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("failed to compute the digest of %q: %w", ref, err)
	}
	_, err = fmt.Fprintf(out, "%s@%s\n", ref.Context(), digest)
	return err
}

func parse(args []string) (options, error) {
	var opts options
	var platforms string
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&opts.source, "source", "../..", "folder of the module to build")
	flags.StringVar(&opts.image, "image", "", "reference to name the image by (required)")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms to build for, separated by commas")
	flags.StringVar(&opts.version, "version", "dev", "version to bake in")
	flags.StringVar(&opts.revision, "revision", "", "commit to name in the image's labels")
	flags.StringVar(&opts.output, "output", "dist/image", "folder to write the OCI layout and the archives to")
	flags.BoolVar(&opts.push, "push", false, "push the image to its registry")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.image == "" {
		return opts, errors.New("the flag --image is required")
	}
	for _, text := range strings.Split(platforms, ",") {
		platform, err := v1.ParsePlatform(strings.TrimSpace(text))
		if err != nil || platform.OS == "" || platform.Architecture == "" {
			return opts, fmt.Errorf("failed to parse the flag --platforms: %q is not OS/ARCH", text)
		}
		opts.platforms = append(opts.platforms, *platform)
	}
	created, err := epoch(os.Getenv("SOURCE_DATE_EPOCH"))
	opts.created = created
	return opts, err
}

// epoch reads the time that reproducible builds agree on; without one it is 1970.
func epoch(text string) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("failed to parse SOURCE_DATE_EPOCH %q: %w", text, err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// write puts the index into an OCI layout, and each image into an archive that a
// container engine loads.
func write(folder string, ref name.Reference, index v1.ImageIndex, images []platformImage) error {
	path := filepath.Join(folder, "oci")
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("failed to empty %q: %w", path, err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("failed to create %q: %w", path, err)
	}
	written, err := layout.Write(path, empty.Index)
	if err != nil {
		return fmt.Errorf("failed to write layout %q: %w", path, err)
	}
	annotation := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": ref.Name()})
	if err := written.AppendIndex(index, annotation); err != nil {
		return fmt.Errorf("failed to write layout %q: %w", path, err)
	}
	for _, image := range images {
		archive := filepath.Join(folder, image.platform.OS+"-"+image.platform.Architecture+".tar")
		if err := tarball.WriteToFile(archive, ref, image.image); err != nil {
			return fmt.Errorf("failed to write archive %q: %w", archive, err)
		}
	}
	return nil
}
