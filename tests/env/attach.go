// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// address is what another process needs to know beside the kubeconfigs.
type address struct {
	Git string `json:"git"`
}

func (e *Env) addressFile() string { return filepath.Join(e.dir, "address.json") }

// publish leaves in the data folder what Attach needs.
func (e *Env) publish() error {
	content, err := json.Marshal(address{Git: e.git.URL()})
	if err != nil {
		return err
	}
	return os.WriteFile(e.addressFile(), content, 0o644)
}

// Attach gives access to a control plane that another process runs, by its data folder
// (Options.Dir there). Client, Config, ConfigFor, NewController, AuditLog and the
// repositories of Git work as usual. The programs are the other process's, and nil
// here; Break, Intercept and the access log of Git are not of that server either.
// Stop ends what was started by the returned Env, and leaves the rest alone.
func Attach(dir string, addToScheme ...func(*runtime.Scheme) error) (*Env, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	e := &Env{dir: dir}
	if e.root, err = projectRoot(); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(e.addressFile())
	if err != nil {
		return nil, fmt.Errorf("failed to find control plane in %q: %w", dir, err)
	}
	var where address
	if err := json.Unmarshal(content, &where); err != nil {
		return nil, fmt.Errorf("failed to decode %q: %w", e.addressFile(), err)
	}
	handler, err := newGitHandler(filepath.Join(dir, "git"))
	if err != nil {
		return nil, err
	}
	e.git = &GitServer{root: handler.root, address: strings.TrimPrefix(where.Git, "http://"), handler: handler}
	config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("failed to read kubeconfig: %w", err)
	}
	config.QPS = -1
	return e, e.use(config, addToScheme)
}

// use makes the administrator's client.
func (e *Env) use(config *rest.Config, addToScheme []func(*runtime.Scheme) error) error {
	scheme, err := newScheme(addToScheme)
	if err != nil {
		return err
	}
	e.config = config
	if e.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("failed to make client: %w", err)
	}
	return nil
}
