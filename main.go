// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// The wavefront-controller orders the updates of fleets on Flux CD.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/cache"
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/features"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/fluxcd/pkg/runtime/probes"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/controller"
	fluxappcontroller "github.com/isometry/wavefront-controller/internal/fluxapp/controller"
	"github.com/isometry/wavefront-controller/internal/lease"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/report"
)

// version is stamped by the build.
var version = "dev"

func main() {
	var opts options
	opts.BindFlags(pflag.CommandLine)
	showVersion := pflag.Bool("version", false, "Print the version and exit.")
	pflag.Parse()
	if *showVersion {
		fmt.Println(version)
		return
	}
	log := logger.NewLogger(opts.logger)
	logger.SetLogger(log)
	if err := run(ctrl.SetupSignalHandler(), &opts, log.WithName("setup")); err != nil {
		log.Error(err, "controller ended")
		os.Exit(1)
	}
}

// run assembles the manager and runs it until ctx ends.
func run(ctx context.Context, opts *options, log logr.Logger) error {
	gates, err := opts.complete(log)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	cfg, err := restConfig(ctx, opts.client)
	if err != nil {
		return err
	}
	guard, lock, err := newLease(cfg, opts)
	if err != nil {
		return err
	}
	// The lock has a configuration of its own by now: it must write without a lease.
	cfg.Wrap(lease.Transport(guard))
	mgr, err := ctrl.NewManager(cfg, managerOptions(opts, gates, scheme, lock))
	if err != nil {
		return fmt.Errorf("failed to create the manager: %w", err)
	}
	probes.SetupChecks(mgr, log)
	if err := setup(mgr, opts, gates, guard); err != nil {
		return err
	}
	log.Info("starting manager", "version", version)
	return mgr.Start(ctx)
}

// newScheme knows every kind that the controllers read or write.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme, helmv2.AddToScheme,
		imagev1.AddToScheme, wavefrontv1.AddToScheme, fluxappv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("failed to build the scheme: %w", err)
		}
	}
	return scheme, nil
}

// setup registers everything that the manager runs.
func setup(mgr ctrl.Manager, opts *options, gates map[string]bool, guard func() error) error {
	now := clock.RealClock{}
	processClock := refs.NewClock(now)
	published, err := report.NewMetrics(ctrlmetrics.Registry, now)
	if err != nil {
		return fmt.Errorf("failed to register metrics: %w", err)
	}
	delivery, err := report.NewDelivery(mgr, published, report.DeliveryOptions{
		Address: opts.eventsAddr, Namespace: opts.runtimeNamespace, Objects: mgr.GetClient(),
	})
	if err != nil {
		return err
	}
	observer, err := newObserver(mgr, opts, gates, processClock)
	if err != nil {
		return err
	}
	for _, runnable := range []interface{ Start(context.Context) error }{delivery, observer} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("failed to add %T to the manager: %w", runnable, err)
		}
	}
	recorder := metrics.MustMakeRecorder()
	namespace := ""
	if !opts.allNamespaces {
		namespace = opts.runtimeNamespace
	}
	err = controller.SetupWithManager(mgr, controller.Options{
		Clock: processClock, Observer: observer, Reporter: report.New(delivery, published, now),
		Metrics: runtimectrl.NewMetrics(mgr, recorder, wavefrontv1.WavefrontFinalizer),
		Lease:   guard, DeclarativeManagers: opts.declarativeManagers,
		NoCrossNamespaceRefs: opts.acl.NoCrossNamespaceRefs, Namespace: namespace, Shard: opts.shard,
		RateLimiter: runtimectrl.GetRateLimiter(opts.rateLimiter), Concurrent: opts.concurrent,
	})
	if err != nil || !gates[gateFluxApp] {
		return err
	}
	return setupFluxApp(mgr, opts, recorder)
}

// newObserver makes the observer of references.
func newObserver(mgr ctrl.Manager, opts *options, gates map[string]bool, processClock *refs.Clock) (*refs.Observer, error) {
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("failed to create the uncached client: %w", err)
	}
	var tokens *cache.TokenCache
	if opts.tokenCacheMaxSize > 0 {
		if tokens, err = cache.NewTokenCache(opts.tokenCacheMaxSize); err != nil {
			return nil, fmt.Errorf("failed to create the token cache: %w", err)
		}
	}
	lister := refs.NewLister(refs.ListerOptions{
		Clock: processClock, Client: direct, TokenCache: tokens,
		ObjectLevelWorkloadIdentity: gates[auth.FeatureGateObjectLevelWorkloadIdentity],
		SSHKexAlgos:                 opts.sshKexAlgos, SSHHostKeyAlgos: opts.sshHostKeyAlgos,
		Registerer: ctrlmetrics.Registry,
	})
	return refs.NewObserver(refs.Options{
		Lister: lister, Logger: mgr.GetLogger().WithName("observer"), Jitter: jitter.JitteredIntervalDuration,
	}), nil
}

// setupFluxApp registers the second API.
func setupFluxApp(mgr ctrl.Manager, opts *options, recorder *metrics.Recorder) error {
	eventRecorder, err := events.NewRecorder(ctrl.Log, opts.eventsAddr, controllerName,
		events.WithManager(mgr), events.WithEventsAPI(events.EventsAPIEventsV1))
	if err != nil {
		return fmt.Errorf("failed to create the event recorder: %w", err)
	}
	return fluxappcontroller.SetupWithManager(mgr, fluxappcontroller.Options{
		EventRecorder:           eventRecorder,
		Metrics:                 runtimectrl.NewMetrics(mgr, recorder, fluxappv1.FluxAppFinalizer),
		RateLimiter:             runtimectrl.GetRateLimiter(opts.rateLimiter),
		MaxConcurrentReconciles: opts.concurrent,
	})
}

// complete fills the options in from the environment, refuses what can't be
// carried out, and returns the state of every feature gate.
func (o *options) complete(log logr.Logger) (map[string]bool, error) {
	if err := o.Complete(); err != nil {
		return nil, err
	}
	if err := o.jitter.SetGlobalJitter(nil); err != nil {
		return nil, fmt.Errorf("invalid value %d for --interval-jitter-percentage: %w", o.jitter.Percentage, err)
	}
	if err := o.gates.WithLogger(log).SupportedFeatures(supportedGates()); err != nil {
		return nil, fmt.Errorf("invalid value for --feature-gates: %w", err)
	}
	gates := map[string]bool{}
	for name := range supportedGates() {
		enabled, err := features.Enabled(name)
		if err != nil {
			return nil, fmt.Errorf("failed to read feature gate %q: %w", name, err)
		}
		gates[name] = enabled
	}
	if gates[auth.FeatureGateObjectLevelWorkloadIdentity] {
		auth.EnableObjectLevelWorkloadIdentity()
	}
	return gates, nil
}
