// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is how the project's own go.mod is told from others.
const modulePath = "github.com/isometry/wavefront-controller"

// ErrNoProject says that the working directory is not inside the project's work tree,
// where the programs are built from and where config/ is.
var ErrNoProject = errors.New("not inside the work tree of " + modulePath)

// programs are the paths of the executables.
type programs struct {
	etcd, apiServer, source, kustomize string
}

// findPrograms finds the executables and has those built that are missing or were
// built from other versions. KUBEBUILDER_ASSETS provides etcd and kube-apiserver where
// it is set and has both.
func findPrograms(ctx context.Context, root string, options Options) (programs, error) {
	bin := filepath.Join(root, "bin")
	found := programs{
		etcd:      filepath.Join(bin, "etcd"),
		apiServer: filepath.Join(bin, "kube-apiserver"),
		source:    filepath.Join(bin, "source-controller"),
		kustomize: filepath.Join(bin, "kustomize-controller"),
	}
	var needed []string
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); hasAssets(assets) {
		found.etcd, found.apiServer = filepath.Join(assets, "etcd"), filepath.Join(assets, "kube-apiserver")
	} else {
		needed = append(needed, "etcd", "kube-apiserver")
	}
	if !options.NoFlux {
		needed = append(needed, "source-controller", "kustomize-controller")
	}
	if len(needed) == 0 {
		return found, nil
	}
	return found, buildPrograms(ctx, root, needed, options.Progress)
}

func hasAssets(dir string) bool {
	if dir == "" {
		return false
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// buildPrograms calls the build script, which does nothing for what is up to date.
func buildPrograms(ctx context.Context, root string, names []string, progress io.Writer) error {
	script := filepath.Join(root, "hack", "programs", "build.sh")
	cmd := exec.CommandContext(ctx, script, names...)
	var transcript strings.Builder
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = &transcript
	if err := startOnForker(cmd); err != nil {
		return fmt.Errorf("failed to build programs: %w", err)
	}
	if progress == nil {
		progress = os.Stderr
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line := lines.Text(); !strings.HasSuffix(line, "already built") {
			_, _ = fmt.Fprintln(progress, line)
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("failed to build programs: %w\n%s", err, transcript.String())
	}
	return nil
}

// projectRoot finds the work tree's root, at or above the working directory.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && isProject(string(content)) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrNoProject
		}
		dir = parent
	}
}

func isProject(goMod string) bool {
	for line := range strings.Lines(goMod) {
		if strings.TrimSpace(line) == "module "+modulePath {
			return true
		}
	}
	return false
}
