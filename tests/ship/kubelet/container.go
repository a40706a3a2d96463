// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/isometry/wavefront-controller/tests/env"
)

// container is the manager's container as a process.
type container struct {
	image string
	// spec tells two containers apart: the encoded pod template.
	spec       string
	metricsURL string
	process    *env.Process
}

// containerOf prepares the process of a Deployment's only container: its arguments as
// they are, the addresses replaced by free ports of loopback, and the environment that
// a pod would have.
func (k *Kubelet) containerOf(ctx context.Context, deployment *appsv1.Deployment) (*container, error) {
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		return nil, fmt.Errorf("the pod has %d containers, not one", len(pod.Containers))
	}
	manager := pod.Containers[0]
	spec, err := json.Marshal(deployment.Spec.Template)
	if err != nil {
		return nil, err
	}
	binary, err := k.binaryFor(manager.Image)
	if err != nil {
		return nil, err
	}
	// A pod does not start without its ServiceAccount, and nobody else makes it.
	account := types.NamespacedName{Namespace: deployment.Namespace, Name: pod.ServiceAccountName}
	if err := k.env.Client().Get(ctx, account, &corev1.ServiceAccount{}); err != nil {
		return nil, err
	}
	kubeconfig, err := k.env.KubeconfigFor(ctx, deployment.Namespace, pod.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	metrics, health, err := freeAddresses()
	if err != nil {
		return nil, err
	}
	c := &container{image: manager.Image, spec: string(spec), metricsURL: "http://" + metrics}
	c.process = env.NewProcess(env.Command{
		Name: manager.Name,
		Path: binary,
		Args: append(arguments(manager), "--metrics-addr="+metrics, "--health-addr="+health),
		Env:  append(environment(manager, deployment.Namespace), "KUBECONFIG="+kubeconfig),
		Log:  filepath.Join(k.env.Dir(), "logs", "manager.log"),
		Ready: func(ctx context.Context) error {
			return answers(ctx, "http://"+health+manager.ReadinessProbe.HTTPGet.Path)
		},
	})
	return c, nil
}

// arguments are the container's, without the address of a service that does not exist
// here.
func arguments(manager corev1.Container) []string {
	var args []string
	for _, arg := range manager.Args {
		if !strings.HasPrefix(arg, "--events-addr=") {
			args = append(args, arg)
		}
	}
	return args
}

// environment resolves the references that the overlays use.
func environment(manager corev1.Container, namespace string) []string {
	var resolved []string
	for _, variable := range manager.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace" {
			value = namespace
		}
		if from := variable.ValueFrom; from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory" {
			value = fmt.Sprint(manager.Resources.Limits.Memory().Value())
		}
		resolved = append(resolved, variable.Name+"="+value)
	}
	return resolved
}

// freeAddresses returns two addresses of loopback that nobody listens on.
func freeAddresses() (metrics, health string, err error) {
	var addresses [2]string
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", fmt.Errorf("failed to find a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		addresses[i] = listener.Addr().String()
	}
	return addresses[0], addresses[1], nil
}

func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return nil
}

func goBuild(ctx context.Context, worktree, output string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", output, ".")
	cmd.Dir = worktree
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("failed to build %s in %q: %w\n%s", env.ControllerName, worktree, err, out)
	}
	return nil
}
