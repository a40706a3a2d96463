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
		options.Binary = filepath.Join(e.root, "bin", ControllerName)
		if err := BuildController(ctx, e.root, options.Binary); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := e.installController(ctx)
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
func (e *Env) installController(ctx context.Context) (string, error) {
	objects, err := BuildKustomization(filepath.Join(e.root, "config", "rbac"))
	if err != nil {
		return "", err
	}
	for _, object := range objects {
		if isNamespaced(object) && object.GetNamespace() == "" {
			object.SetNamespace(RuntimeNamespace)
		}
		setSubjectNamespace(object)
	}
	if err := e.Apply(ctx, objects...); err != nil {
		return "", err
	}
	return e.KubeconfigFor(ctx, RuntimeNamespace, ControllerName)
}

// isNamespaced tells the kinds of config/rbac apart.
func isNamespaced(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "ServiceAccount", "Role", "RoleBinding":
		return true
	}
	return false
}

// setSubjectNamespace fills in the namespace of a binding's ServiceAccounts, which the
// overlay that a cluster installs would do.
func setSubjectNamespace(object *unstructured.Unstructured) {
	subjects, found, err := unstructured.NestedSlice(object.Object, "subjects")
	if err != nil || !found {
		return
	}
	for _, subject := range subjects {
		fields, ok := subject.(map[string]any)
		if ok && fields["kind"] == "ServiceAccount" {
			fields["namespace"] = RuntimeNamespace
		}
	}
	_ = unstructured.SetNestedSlice(object.Object, subjects, "subjects")
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

// BuildController builds the controller from the work tree at root.
func BuildController(ctx context.Context, root, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("failed to build %s: %w\n%s", ControllerName, err, out)
	}
	return nil
}
