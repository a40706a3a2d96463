// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcfg "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fluxcd/cli-utils/pkg/flowcontrol"
	runtimeclient "github.com/fluxcd/pkg/runtime/client"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/pprof"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/lease"
)

// restConfig says how to reach the API server. Requests are spaced here only where
// the server does not share itself out fairly. That is read from the headers of
// its answer to HEAD /livez/ping, which it sets on a refusal too: the question
// needs no permission, and the role grants none.
func restConfig(ctx context.Context, opts runtimeclient.Options) (*rest.Config, error) {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("failed to find the API server: %w", err)
	}
	cfg.QPS, cfg.Burst = opts.QPS, opts.Burst
	if fair, err := flowcontrol.IsEnabled(ctx, cfg); err == nil && fair {
		cfg.QPS, cfg.Burst = -1, -1
	}
	return cfg, nil
}

// newLease returns the check that comes before each write, and the lock of leader
// election (nil without leader election).
func newLease(cfg *rest.Config, opts *options) (func() error, resourcelock.Interface, error) {
	if !opts.leaderElection.Enable {
		return lease.Unguarded, nil, nil
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("failed to read the host's name: %w", err)
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, opts.runtimeNamespace,
		leaseName(opts.labelSelector),
		resourcelock.ResourceLockConfig{Identity: hostname + "_" + string(uuid.NewUUID())},
		rest.AddUserAgent(cfg, "leader-election"), opts.leaderElection.RenewDeadline)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to create the leader election lock: %w", err)
	}
	guard := lease.NewGuard(lock, opts.leaderElection.RenewDeadline, clock.RealClock{})
	return guard.Check, guard, nil
}

// managerOptions are those of the manager. Its cache names no kind that need not be
// installed: the manager would not start without its CRD.
func managerOptions(opts *options, gates map[string]bool, scheme *runtime.Scheme, lock resourcelock.Interface) ctrl.Options {
	o := ctrl.Options{
		Scheme:                        scheme,
		HealthProbeBindAddress:        opts.healthAddr,
		LeaderElection:                opts.leaderElection.Enable,
		LeaderElectionID:              leaseName(opts.labelSelector),
		LeaderElectionReleaseOnCancel: opts.leaderElection.ReleaseOnCancel,
		LeaseDuration:                 &opts.leaderElection.LeaseDuration,
		RenewDeadline:                 &opts.leaderElection.RenewDeadline,
		RetryPeriod:                   &opts.leaderElection.RetryPeriod,
		Logger:                        ctrl.Log,
		Metrics: metricsserver.Options{
			BindAddress:   opts.metricsAddr,
			ExtraHandlers: pprof.GetHandlers(),
		},
		Client: client.Options{Cache: &client.CacheOptions{
			// Secrets are read when they are needed, and never kept.
			DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}},
		}},
		Cache: ctrlcache.Options{
			DefaultTransform: slim,
			ByObject:         map[client.Object]ctrlcache.ByObject{&wavefrontv1.Wavefront{}: {Transform: slimPeers(opts.shard)}},
		},
		Controller: ctrlcfg.Controller{MaxConcurrentReconciles: opts.concurrent},
	}
	if gates[gateFluxApp] {
		o.Cache.ByObject[&fluxappv1.FluxApp{}] = ctrlcache.ByObject{Label: opts.shard}
	}
	if lock != nil {
		// The lock knows its name; the ID is the metric's.
		o.LeaderElectionResourceLockInterface = lock
	}
	if !opts.allNamespaces {
		o.Cache.DefaultNamespaces = map[string]ctrlcache.Config{opts.runtimeNamespace: {}}
	}
	return o
}

// strip drops who owns which field.
var strip = ctrlcache.TransformStripManagedFields()

// slim drops what nobody reads before an object is cached: of all objects, only the
// owners of a source's fields are asked for.
func slim(obj any) (any, error) {
	if _, is := obj.(*sourcev1.GitRepository); is {
		return obj, nil
	}
	return strip(obj)
}

// slimPeers slims Wavefronts. All of them are cached, whatever the shard: they may
// claim the same sources. But of those that another process reconciles nobody reads
// the status, which is most of them.
func slimPeers(shard labels.Selector) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if wf, is := obj.(*wavefrontv1.Wavefront); is && !shard.Matches(labels.Set(wf.Labels)) {
			wf.Status = wavefrontv1.WavefrontStatus{}
		}
		return strip(obj)
	}
}

// leaseName is the name of the Lease: a shard, which sees only what its selector
// matches, has one of its own.
func leaseName(selector string) string {
	const name = controllerName + "-leader-election"
	if selector == "" {
		return name
	}
	return leaderelection.GenerateID(name, selector)
}
