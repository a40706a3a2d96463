// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// ControllerName is the controller's program and ServiceAccount.
const ControllerName = "wavefront-controller"

// ControllerOptions say how to run the project's controller. The zero value is how it
// is shipped: its own ServiceAccount in flux-system, with the roles of config/rbac.
type ControllerOptions struct {
	// Binary is the executable; empty means built from the work tree.
	Binary string
	// RBAC are the kustomizations to apply, below the work tree's root; default
	// config/rbac.
	RBAC []string
	// Args are added to the arguments that this environment needs.
	Args []string
	// Env is added to the environment, as KEY=value.
	Env []string
	// Name tells the log files of several apart; default "wavefront-controller".
	Name string
	// Output receives the log in place of the file.
	Output *os.File
}

// Controller is the project's controller as a process, started or not.
type Controller struct {
	*Process
	// MetricsURL and HealthURL are its two servers, without a path.
	MetricsURL, HealthURL string
}

// NewController builds the controller, applies its roles and ServiceAccount, and
// prepares the process. Start it, kill it, start it again: it is ended with the Env.
func (e *Env) NewController(ctx context.Context, options ControllerOptions) (*Controller, error) {
	e.setup.Lock()
	defer e.setup.Unlock()
	if options.Name == "" {
		options.Name = ControllerName
	}
	if options.Binary == "" {
		binary, err := e.buildController(ctx)
		if err != nil {
			return nil, err
		}
		options.Binary = binary
	}
	if len(options.RBAC) == 0 {
		options.RBAC = []string{filepath.Join("config", "rbac")}
	}
	kubeconfig, err := e.installController(ctx, options.RBAC)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	controller := &Controller{
		MetricsURL: "http://" + loopback(ports[0]),
		HealthURL:  "http://" + loopback(ports[1]),
	}
	controller.Process = NewProcess(Command{
		Name: options.Name,
		Path: options.Binary,
		Args: append([]string{
			"--metrics-addr=" + loopback(ports[0]),
			"--health-addr=" + loopback(ports[1]),
		}, options.Args...),
		Env: append([]string{
			"KUBECONFIG=" + kubeconfig,
			"RUNTIME_NAMESPACE=" + RuntimeNamespace,
			"TMPDIR=" + e.tempDir(),
		}, options.Env...),
		Log:    e.logFile(options.Name),
		Output: options.Output,
		Ready:  answersOK(http.DefaultClient, controller.HealthURL+"/readyz"),
	})
	e.extra = append(e.extra, controller.Process)
	return controller, nil
}

// installController applies the roles that are shipped and returns the kubeconfig of
// the ServiceAccount that they are bound to.
func (e *Env) installController(ctx context.Context, dirs []string) (string, error) {
	for _, dir := range dirs {
		objects, err := BuildKustomization(filepath.Join(e.root, dir))
		if err != nil {
			return "", err
		}
		if err := e.Apply(ctx, objects...); err != nil {
			return "", err
		}
	}
	return e.KubeconfigFor(ctx, RuntimeNamespace, ControllerName)
}

// BuildKustomization renders a folder with a kustomization.yaml, as kustomize build
// does.
func BuildKustomization(dir string) ([]*unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("failed to build kustomization %q: %w", dir, err)
	}
	content, err := resources.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("failed to render kustomization %q: %w", dir, err)
	}
	return Decode(content)
}

// buildController builds the controller, once for an Env, into its folder.
func (e *Env) buildController(ctx context.Context) (string, error) {
	binary := filepath.Join(e.dir, "bin", ControllerName)
	if e.built {
		return binary, nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	cmd.Dir = e.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("failed to build %s: %w\n%s", ControllerName, err, out)
	}
	e.built = true
	return binary, nil
}
