// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/runtime/acl"
	runtimeclient "github.com/fluxcd/pkg/runtime/client"
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/features"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
)

const (
	controllerName = "wavefront-controller"

	// runtimeNamespaceEnv names the namespace that the controller runs in; the
	// Deployment sets it from the downward API.
	runtimeNamespaceEnv = "RUNTIME_NAMESPACE"

	// gateFluxApp turns the second API on: FluxApp.
	gateFluxApp = "FluxApp"
)

// options are everything that can be set from the command line.
type options struct {
	metricsAddr         string
	healthAddr          string
	eventsAddr          string
	concurrent          int
	allNamespaces       bool
	labelSelector       string
	sshKexAlgos         []string
	sshHostKeyAlgos     []string
	declarativeManagers []string
	tokenCacheMaxSize   int

	client         runtimeclient.Options
	logger         logger.Options
	leaderElection leaderelection.Options
	rateLimiter    runtimectrl.RateLimiterOptions
	jitter         jitter.IntervalOptions
	acl            acl.Options
	gates          features.FeatureGates

	// runtimeNamespace comes from the environment.
	runtimeNamespace string
	// shard is the parsed labelSelector.
	shard labels.Selector
}

// BindFlags binds every option to its flag. Names, defaults and order are those
// of the Flux controllers.
func (o *options) BindFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.eventsAddr, "events-addr", "",
		"The address of the events receiver.")
	fs.StringVar(&o.metricsAddr, "metrics-addr", ":8080",
		"The address the metric endpoint binds to.")
	fs.StringVar(&o.healthAddr, "health-addr", ":9440",
		"The address the health endpoint binds to.")
	fs.IntVar(&o.concurrent, "concurrent", 4,
		"The number of concurrent reconciles per controller.")
	fs.BoolVar(&o.allNamespaces, "watch-all-namespaces", true,
		"Watch for Flux objects in all namespaces, if set to false only those in the runtime namespace are seen.")
	fs.StringVar(&o.labelSelector, "watch-label-selector", "",
		"Watch for Wavefronts (and FluxApps) with matching labels e.g. 'sharding.fluxcd.io/key=shard1'.")
	fs.StringSliceVar(&o.sshKexAlgos, "ssh-kex-algos", nil,
		"The list of key exchange algorithms to use for ssh connections, arranged from most preferred to the least.")
	fs.StringSliceVar(&o.sshHostKeyAlgos, "ssh-hostkey-algos", nil,
		"The list of hostkey algorithms to use for ssh connections, arranged from most preferred to the least.")
	fs.StringSliceVar(&o.declarativeManagers, "declarative-managers",
		[]string{"kustomize-controller", "helm-controller", "flux-operator", "argocd-controller"},
		"The field managers that apply what Git renders: a commit that one of them owns is declared, not pinned by hand.")
	fs.IntVar(&o.tokenCacheMaxSize, "token-cache-max-size", 100,
		"The number of access tokens of git hosts to cache, 0 disables the cache.")

	o.client.BindFlags(fs)
	o.logger.BindFlags(fs)
	o.leaderElection.BindFlags(fs)
	o.rateLimiter.BindFlags(fs)
	o.jitter.BindFlags(fs)
	o.acl.BindFlags(fs)
	o.gates.BindFlags(fs)
}

// Complete fills in what comes from the environment and refuses values that
// can't be carried out.
func (o *options) Complete() error {
	o.runtimeNamespace = os.Getenv(runtimeNamespaceEnv)
	if o.concurrent < 1 {
		return fmt.Errorf("invalid value %d for --concurrent: must be at least 1", o.concurrent)
	}
	if o.tokenCacheMaxSize < 0 {
		return fmt.Errorf("invalid value %d for --token-cache-max-size: must not be negative", o.tokenCacheMaxSize)
	}
	if o.runtimeNamespace == "" && (!o.allNamespaces || o.leaderElection.Enable) {
		return fmt.Errorf("%s is not set: --enable-leader-election and --watch-all-namespaces=false need the namespace that the controller runs in",
			runtimeNamespaceEnv)
	}
	shard, err := labels.Parse(o.labelSelector)
	if err != nil {
		return fmt.Errorf("invalid value %q for --watch-label-selector: %w", o.labelSelector, err)
	}
	o.shard = shard
	return nil
}

// supportedGates are the feature gates and their defaults.
func supportedGates() map[string]bool {
	return map[string]bool{
		gateFluxApp: false,
		auth.FeatureGateObjectLevelWorkloadIdentity: false,
	}
}
