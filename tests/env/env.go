// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// RuntimeNamespace is where Flux's controllers, and ours, live.
	RuntimeNamespace = "flux-system"
	// startTimeout bounds Start, the building of programs excepted.
	startTimeout = 3 * time.Minute
)

// Options say what to start. The zero value is the whole control plane with a git
// server, in a new temporary folder.
type Options struct {
	// Dir is the folder for all data, made when missing. Empty means a new one in the
	// system's temporary folder, removed by Stop.
	Dir string
	// NoFlux leaves source- and kustomize-controller out: enough for tests of the API
	// itself, and seconds faster.
	NoFlux bool
	// Audit has the API server write an audit log; see AuditLog.
	Audit bool
	// Namespaces are made, beside flux-system.
	Namespaces []string
	// CRDs are more YAML files, or folders of them, with CustomResourceDefinitions.
	// Flux's and the project's own (config) are always there.
	CRDs []string
	// AddToScheme adds types to what Client knows, beside Kubernetes' and Flux's.
	AddToScheme []func(*runtime.Scheme) error
	// APIServerFlags, SourceControllerFlags and KustomizeControllerFlags are added to
	// the programs' own, where the last of two equal ones counts.
	APIServerFlags           []string
	SourceControllerFlags    []string
	KustomizeControllerFlags []string
	// Progress receives lines about building and starting; nil means standard error
	// for building and nothing for starting.
	Progress io.Writer
}

// Env is a running control plane. Safe for concurrent use.
type Env struct {
	dir     string
	root    string // of the project's work tree; empty when outside of one
	options Options
	scratch *scratch // dir, where it is ours to remove
	paths   programs

	etcd, apiServer, source, kustomize *Process

	git    *GitServer
	config *rest.Config
	client client.WithWatch

	setup sync.Mutex // guards what follows
	built bool       // the project's controller, into dir
	extra []*Process // what NewController made
}

// Start starts a control plane and returns when all of it is ready. Programs that are
// missing in bin/ are built first, which takes minutes, once. The caller stops it; it
// ends with this process in any case.
func Start(ctx context.Context, options Options) (_ *Env, err error) {
	e := &Env{options: options, dir: options.Dir}
	if e.root, err = projectRoot(); err != nil {
		return nil, err
	}
	if e.paths, err = findPrograms(ctx, e.root, options); err != nil {
		return nil, err
	}
	if err := e.makeDir(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Stop())
		}
	}()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"git server", e.startGit},
		{"etcd and kube-apiserver", e.startAPI},
		{"namespaces and CRDs", e.Install},
		{"source-controller and kustomize-controller", e.startFlux},
	} {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("failed to start %s: %w", step.what, err)
		}
		e.progress("%s: ready after %.1fs", step.what, time.Since(began).Seconds())
	}
	return e, e.publish()
}

func (e *Env) progress(format string, args ...any) {
	if e.options.Progress != nil {
		_, _ = fmt.Fprintf(e.options.Progress, format+"\n", args...)
	}
}

func (e *Env) makeDir() (err error) {
	if e.dir == "" {
		if e.scratch, err = newScratch(); err != nil {
			return err
		}
		e.dir = e.scratch.dir
	} else if e.dir, err = filepath.Abs(e.dir); err != nil {
		return err
	}
	return os.MkdirAll(e.tempDir(), 0o755)
}

func (e *Env) startGit(context.Context) (err error) {
	if e.git, err = NewGitServer(filepath.Join(e.dir, "git")); err != nil {
		return err
	}
	return e.git.Start()
}

// Stop ends every program and the git server, at once, and removes the data unless
// Options.Dir named the folder. It may be called more than once.
func (e *Env) Stop() error {
	e.setup.Lock()
	defer e.setup.Unlock()
	var errs []error
	// Killed rather than asked: nothing that they hold is worth keeping.
	for _, process := range append(slices.Clone(e.extra), e.kustomize, e.source, e.apiServer, e.etcd) {
		if process != nil {
			errs = append(errs, process.Kill())
		}
	}
	if e.git != nil {
		errs = append(errs, e.git.Stop())
	}
	if e.scratch != nil {
		errs = append(errs, e.scratch.remove())
		e.scratch = nil
	}
	return errors.Join(errs...)
}

// Keep has Stop leave a temporary data folder where it is.
func (e *Env) Keep() error {
	if e.scratch == nil {
		return nil
	}
	return e.scratch.keep()
}

// Dir is the folder with all data: "logs" has a file for each program.
func (e *Env) Dir() string { return e.dir }

// Git is the git server.
func (e *Env) Git() *GitServer { return e.git }

// Client is an administrator's client, without a cache, that knows Kubernetes',
// Flux's and the project's types, and those of Options.AddToScheme.
func (e *Env) Client() client.WithWatch { return e.client }

// Scheme is what Client knows.
func (e *Env) Scheme() *runtime.Scheme { return e.client.Scheme() }

// Config is an administrator's access to the API server, a new copy each time.
func (e *Env) Config() *rest.Config { return rest.CopyConfig(e.config) }

// Etcd is the running etcd.
func (e *Env) Etcd() *Process { return e.etcd }

// APIServer is the running kube-apiserver.
func (e *Env) APIServer() *Process { return e.apiServer }

// SourceController is the running source-controller; nil with Options.NoFlux.
func (e *Env) SourceController() *Process { return e.source }

// KustomizeController is the running kustomize-controller; nil with Options.NoFlux.
func (e *Env) KustomizeController() *Process { return e.kustomize }

func (e *Env) logFile(name string) string { return filepath.Join(e.dir, "logs", name+".log") }
