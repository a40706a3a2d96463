// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command installer builds an overlay into one file with a given image, the work
// tree staying as it is. It is what `make deploy` applies and what a release
// publishes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	// shippedImage is the name that the overlays use.
	shippedImage = "ghcr.io/isometry/wavefront-controller"
	versionLabel = "app.kubernetes.io/version"
	crdKind      = "CustomResourceDefinition"
)

// options say what to build.
type options struct {
	overlay string
	// image replaces the shipped one; empty leaves it.
	image string
	// version labels every object; empty labels none.
	version string
	// output is a file, or "-".
	output string
	// definitions is "with", "without" or "only".
	definitions string
}

func main() {
	err := run(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "installer:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), opts.overlay)
	if err != nil {
		return fmt.Errorf("failed to build overlay %q: %w", opts.overlay, err)
	}
	if err := filter(built, opts.definitions); err != nil {
		return err
	}
	if err := setImage(built, opts.image); err != nil {
		return err
	}
	if err := setVersion(built, opts.version); err != nil {
		return err
	}
	content, err := built.AsYaml()
	if err != nil {
		return fmt.Errorf("failed to encode overlay %q: %w", opts.overlay, err)
	}
	return write(opts.output, content, stdout)
}

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("installer", flag.ContinueOnError)
	flags.StringVar(&opts.overlay, "overlay", "config/default", "folder of the overlay to build")
	flags.StringVar(&opts.image, "image", "", "image of the manager, as NAME[:TAG][@DIGEST]; the shipped one if empty")
	flags.StringVar(&opts.version, "version", "", "version to label every object with; none if empty")
	flags.StringVar(&opts.output, "output", "-", "file to write, or - for standard output")
	flags.StringVar(&opts.definitions, "definitions", "with", "with, without or only the custom resource definitions")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	switch opts.definitions {
	case "with", "without", "only":
		return opts, nil
	default:
		return opts, fmt.Errorf("failed to parse the flag --definitions: %q is not with, without or only", opts.definitions)
	}
}

// filter removes the definitions, or everything else.
func filter(built resmap.ResMap, definitions string) error {
	for _, resource := range built.Resources() {
		isDefinition := resource.GetKind() == crdKind
		if (definitions == "without" && isDefinition) || (definitions == "only" && !isDefinition) {
			if err := built.Remove(resource.CurId()); err != nil {
				return fmt.Errorf("failed to leave out %s: %w", resource.CurId(), err)
			}
		}
	}
	return nil
}

// setImage replaces the shipped image in the pod templates.
func setImage(built resmap.ResMap, image string) error {
	if image == "" {
		return nil
	}
	replacement, err := parseImage(image)
	if err != nil {
		return err
	}
	if err := built.ApplyFilter(imagetag.Filter{
		ImageTag: replacement,
		FsSlice:  []types.FieldSpec{{Path: "spec/template/spec/containers[]/image"}},
	}); err != nil {
		return fmt.Errorf("failed to set image %q: %w", image, err)
	}
	return nil
}

// parseImage splits NAME[:TAG][@DIGEST]; a colon before a slash is of a port.
func parseImage(image string) (types.Image, error) {
	parsed := types.Image{Name: shippedImage}
	parsed.NewName, parsed.Digest, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(parsed.NewName, ":"); colon > strings.LastIndex(parsed.NewName, "/") {
		parsed.NewName, parsed.NewTag = parsed.NewName[:colon], parsed.NewName[colon+1:]
	}
	if parsed.NewName == "" || strings.ContainsAny(image, " \t\n") {
		return parsed, fmt.Errorf("failed to parse the flag --image: %q is not NAME[:TAG][@DIGEST]", image)
	}
	if parsed.NewTag == "" && parsed.Digest == "" {
		parsed.NewTag = "latest"
	}
	return parsed, nil
}

// setVersion labels every object.
func setVersion(built resmap.ResMap, version string) error {
	if version == "" {
		return nil
	}
	for _, resource := range built.Resources() {
		labels := resource.GetLabels()
		labels[versionLabel] = version
		if err := resource.SetLabels(labels); err != nil {
			return fmt.Errorf("failed to label %s: %w", resource.CurId(), err)
		}
	}
	return nil
}

func write(output string, content []byte, stdout io.Writer) error {
	if output == "-" {
		_, err := stdout.Write(content)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return fmt.Errorf("failed to create the folder of %q: %w", output, err)
	}
	if err := os.WriteFile(output, content, 0o644); err != nil {
		return fmt.Errorf("failed to write %q: %w", output, err)
	}
	return nil
}
