// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build release

package ship

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// imageVersion is what the tests' images are built as.
const imageVersion = "v1.2.3"

// built is what one run of `make ko-build` leaves.
type built struct {
	// folder has the image's layout; reference names the image by its digest.
	folder, reference string
}

// first is built once for all tests.
var first struct {
	once  sync.Once
	built built
}

// firstBuild is the image that the tests look at.
func firstBuild(t *testing.T) built {
	t.Helper()
	first.once.Do(func() {
		folder := filepath.Join(managerFolder, "image")
		first.built = built{folder: folder, reference: koBuild(t, folder)}
	})
	NewWithT(t).Expect(first.built.reference).NotTo(BeEmpty(), "the first build failed")
	return first.built
}

// koBuild runs `make ko-build` for all its platforms, and returns what it prints.
func koBuild(t *testing.T, folder string) string {
	t.Helper()
	g := NewWithT(t)
	cmd := exec.Command("make", "--silent", "ko-build", "VERSION="+imageVersion,
		"IMG=example.com/wavefront-controller:"+imageVersion, "DIST="+folder)
	cmd.Dir = repository(t)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	g.Expect(err).NotTo(HaveOccurred(), complaints.String())
	reference := strings.TrimSpace(string(out))
	g.Expect(reference).To(MatchRegexp(`^example\.com/wavefront-controller@sha256:[0-9a-f]{64}$`))
	t.Log(reference)
	return reference
}

// descriptor points at content in a layout.
type descriptor struct {
	Digest   string `json:"digest"`
	Platform struct {
		OS, Architecture string
	} `json:"platform"`
}

// image is that of one platform.
type image struct {
	config struct {
		OS, Architecture string
		Config           struct {
			User            string
			Entrypoint, Cmd []string
			Env             []string
			Labels          map[string]string
		}
	}
	// root is its file system.
	root string
}

// entrypoint is where the image's program stands here.
func (i image) entrypoint(t *testing.T) string {
	t.Helper()
	NewWithT(t).Expect(i.config.Config.Entrypoint).To(HaveLen(1))
	return filepath.Join(i.root, i.config.Config.Entrypoint[0])
}

// imagesOf unpacks every image of a layout, by the digest that the reference names.
func imagesOf(t *testing.T, from built) []image {
	t.Helper()
	g := NewWithT(t)
	layout := filepath.Join(from.folder, "image", "oci")
	_, digest, _ := strings.Cut(from.reference, "@")
	var index struct{ Manifests []descriptor }
	decodeBlob(t, layout, digest, &index)
	var images []image
	for _, one := range index.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		decodeBlob(t, layout, one.Digest, &manifest)
		unpacked := image{root: t.TempDir()}
		g.Expect(os.Chmod(unpacked.root, 0o755)).To(Succeed())
		decodeBlob(t, layout, manifest.Config.Digest, &unpacked.config)
		g.Expect(one.Platform.OS).To(Equal(unpacked.config.OS))
		g.Expect(one.Platform.Architecture).To(Equal(unpacked.config.Architecture))
		for _, layer := range manifest.Layers {
			cmd := exec.Command("tar", "-x", "-z", "-p", "--no-same-owner", "-C", unpacked.root)
			cmd.Stdin = strings.NewReader(string(blob(t, layout, layer.Digest)))
			out, err := cmd.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(out))
		}
		images = append(images, unpacked)
	}
	return images
}

// blob reads content of a layout, which must be what its digest says.
func blob(t *testing.T, layout, digest string) []byte {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(layout, "blobs", strings.ReplaceAll(digest, ":", "/")))
	g.Expect(err).NotTo(HaveOccurred())
	actual := sha256.Sum256(content)
	g.Expect("sha256:" + hex.EncodeToString(actual[:])).To(Equal(digest))
	return content
}

func decodeBlob(t *testing.T, layout, digest string, into any) {
	t.Helper()
	NewWithT(t).Expect(json.Unmarshal(blob(t, layout, digest), into)).To(Succeed())
}
