// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/solver/pb"
	. "github.com/onsi/gomega"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// builder is the platform that the tests build on.
var builder = ocispecs.Platform{OS: "linux", Architecture: "amd64"}

// baseImages stand for a registry: every image has one layer, and is of the platform
// that is asked for.
type baseImages struct{}

func (baseImages) ResolveImageConfig(_ context.Context, ref string, opt sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config, err := json.Marshal(ocispecs.Image{
		Platform: *opt.ImageOpt.Platform,
		RootFS:   ocispecs.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromString(ref)}},
	})
	return ref, digest.FromBytes(config), config, err
}

func read(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "Dockerfile"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

// options are those of `docker build --platform linux/ARCHITECTURE`.
func options(content []byte, architecture string, args map[string]string) dockerfile2llb.ConvertOpt {
	target := ocispecs.Platform{OS: "linux", Architecture: architecture}
	source := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", content)
	source.Definition = &llb.Definition{}
	return dockerfile2llb.ConvertOpt{
		Config: dockerui.Config{
			BuildArgs:       args,
			BuildPlatforms:  []ocispecs.Platform{builder},
			TargetPlatforms: []ocispecs.Platform{target},
		},
		TargetPlatform: &target,
		MetaResolver:   baseImages{},
		SourceMap:      source,
	}
}

// TestChecks does what `docker build --check` does.
func TestChecks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		content []byte
		want    []string
	}{
		{name: "ours", content: read(t)},
		{name: "another", content: []byte("from scratch\nENV a b\nCMD run\n"), want: []string{"ConsistentInstructionCasing", "JSONArgsRecommended", "LegacyKeyValueFormat"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			results, err := dockerfile2llb.DockerfileLint(t.Context(), tt.content, options(tt.content, "amd64", nil))
			g.Expect(err).NotTo(HaveOccurred())
			var rules []string
			for _, warning := range results.Warnings {
				rules = append(rules, warning.RuleName)
			}
			slices.Sort(rules)
			g.Expect(rules).To(Equal(tt.want), "%v", results.Warnings)
			g.Expect(results.Error).To(BeNil())
		})
	}
}

// TestPlatforms converts the Dockerfile for each platform: the compiler runs on the
// builder's, is told the one that is built for, and the image is of that one.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	for _, architecture := range []string{"amd64", "arm64"} {
		t.Run(architecture, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			content := read(t)
			result, err := dockerfile2llb.Dockerfile2LLB(t.Context(), content, options(content, architecture, map[string]string{"VERSION": "v1.2.3"}))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.Image.OS + "/" + result.Image.Architecture).To(Equal("linux/" + architecture))
			config := result.Image.Config
			g.Expect(config.User).To(Equal("65534:65534"))
			g.Expect(config.Entrypoint).To(Equal([]string{"/usr/local/bin/wavefront-controller"}))
			g.Expect(config.Cmd).To(BeEmpty())
			g.Expect(config.Labels).To(HaveKeyWithValue("org.opencontainers.image.version", "v1.2.3"))

			definition, err := result.State.Marshal(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			compiled := runs(t, definition, "go build")
			g.Expect(compiled.platform).To(Equal("linux/amd64"), "it is not emulated")
			g.Expect(compiled.environment).To(ContainElements(
				"CGO_ENABLED=0", "TARGETOS=linux", "TARGETARCH="+architecture, "VERSION=v1.2.3"))
		})
	}
}

// step is a RUN as an engine would carry it out.
type step struct {
	platform    string
	environment []string
}

// runs finds the only step whose command contains text.
func runs(t *testing.T, definition *llb.Definition, text string) step {
	t.Helper()
	g := NewWithT(t)
	var found []step
	for _, encoded := range definition.Def {
		var op pb.Op
		g.Expect(op.UnmarshalVT(encoded)).To(Succeed())
		if exec := op.GetExec(); exec != nil && strings.Contains(strings.Join(exec.Meta.Args, " "), text) {
			found = append(found, step{
				platform:    op.Platform.OS + "/" + op.Platform.Architecture,
				environment: exec.Meta.Env,
			})
		}
	}
	g.Expect(found).To(HaveLen(1), "steps that run %q", text)
	return found[0]
}
