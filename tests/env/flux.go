// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// startFlux starts source- and kustomize-controller.
func (e *Env) startFlux(ctx context.Context) error {
	if e.options.NoFlux {
		return nil
	}
	ports, err := freePorts(5)
	if err != nil {
		return err
	}
	storage := filepath.Join(e.dir, sourceUser)
	if err := os.MkdirAll(storage, 0o755); err != nil {
		return err
	}
	e.source = e.newController(controllerCommand{
		name: sourceUser, path: e.paths.source, metrics: ports[0], health: ports[1],
		args: append([]string{
			"--storage-path=" + storage,
			"--storage-addr=" + loopback(ports[2]),
			"--storage-adv-addr=" + loopback(ports[2]),
		}, e.options.SourceControllerFlags...),
	})
	e.kustomize = e.newController(controllerCommand{
		name: kustomizeUser, path: e.paths.kustomize, metrics: ports[3], health: ports[4],
		args: append([]string{"--requeue-dependency=1s"}, e.options.KustomizeControllerFlags...),
	})
	group, ctx := errgroup.WithContext(ctx)
	for _, controller := range []*Process{e.source, e.kustomize} {
		group.Go(func() error { return controller.Start(ctx) })
	}
	return group.Wait()
}

// controllerCommand is what differs between controllers of Flux's family.
type controllerCommand struct {
	name, path      string
	metrics, health int
	args            []string
}

// newController prepares a controller that runs as an administrator of its own name.
// Flux's controllers take no --kubeconfig; KUBECONFIG is how they are told.
func (e *Env) newController(c controllerCommand) *Process {
	return NewProcess(Command{
		Name: c.name,
		Path: c.path,
		Args: append([]string{
			"--metrics-addr=" + loopback(c.metrics),
			"--health-addr=" + loopback(c.health),
			"--enable-leader-election=false",
			"--log-level=info",
		}, c.args...),
		Env: []string{
			"KUBECONFIG=" + e.kubeconfigFile(c.name),
			"RUNTIME_NAMESPACE=" + RuntimeNamespace,
			"TMPDIR=" + e.tempDir(),
		},
		Log:   e.logFile(c.name),
		Ready: answersOK(http.DefaultClient, "http://"+loopback(c.health)+"/readyz"),
	})
}
