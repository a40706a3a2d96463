// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// NewScheme returns the kinds that wfctl reads and writes.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		wavefrontv1.AddToScheme, fluxappv1.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme, helmv2.AddToScheme,
		notificationv1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme, authenticationv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// clusterConfig is the connection that kubectl's flags and the kubeconfig name.
func (p *program) clusterConfig() (*rest.Config, error) {
	if err := p.namesCluster(); err != nil {
		return nil, err
	}
	cfg, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("failed to load the cluster connection: %w", err)
	}
	cfg.UserAgent = "wfctl/" + p.version
	cfg.QPS, cfg.Burst = 50, 100
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg, nil
}

// namesCluster fails where nothing says which cluster is meant. Kubernetes' libraries
// would try port 8080 of this machine, and report that it refuses the connection.
func (p *program) namesCluster() error {
	loader := p.flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return fmt.Errorf("failed to load the cluster connection: %w", err)
	}
	given := func(flag *string) bool { return flag != nil && *flag != "" }
	switch inCluster := p.getenv("KUBERNETES_SERVICE_HOST") != ""; {
	case inCluster, given(p.flags.APIServer), given(p.flags.Context), given(p.flags.ClusterName), raw.CurrentContext != "":
		return nil
	case len(raw.Clusters) > 0 || len(raw.Contexts) > 0:
		return errors.New("failed to load the cluster connection: the kubeconfig has no current context: name one with --context, or choose it with `kubectl config use-context`")
	}
	return fmt.Errorf("failed to load the cluster connection: no cluster in %s: name a kubeconfig in KUBECONFIG or with --kubeconfig",
		strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))
}

func (p *program) clusterClient() (client.WithWatch, error) {
	cfg, err := p.restConfig()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("failed to connect to the cluster: %w", err)
	}
	return c, nil
}

// findWavefront returns the Wavefront that --wavefront names, or the only one.
func (p *program) findWavefront(ctx context.Context, c client.Reader) (*wavefrontv1.Wavefront, error) {
	if p.wavefront != "" {
		return p.getWavefront(ctx, c, p.wavefront)
	}
	list := &wavefrontv1.WavefrontList{}
	if err := c.List(ctx, list); err != nil {
		return nil, explainAPI("list Wavefronts", err)
	}
	switch len(list.Items) {
	case 1:
		return &list.Items[0], nil
	case 0:
		return nil, fmt.Errorf("failed to find a Wavefront: the cluster has none; create one to begin (its mode Shadow changes nothing)")
	}
	return nil, fmt.Errorf("failed to choose a Wavefront: there are several (%s); name one with --wavefront", wavefrontNames(list))
}

func (p *program) getWavefront(ctx context.Context, c client.Reader, name string) (*wavefrontv1.Wavefront, error) {
	obj := &wavefrontv1.Wavefront{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, obj)
	if apierrors.IsNotFound(err) {
		if list := (&wavefrontv1.WavefrontList{}); c.List(ctx, list) == nil && len(list.Items) > 0 {
			return nil, fmt.Errorf("failed to find Wavefront %q: the cluster has %s", name, wavefrontNames(list))
		}
	}
	if err != nil {
		return nil, explainAPI(fmt.Sprintf("get Wavefront %q", name), err)
	}
	return obj, nil
}

func wavefrontNames(list *wavefrontv1.WavefrontList) string {
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// roleFor names the smallest role that allows what was refused, and what is needed to
// write. Each role holds the one before.
func roleFor(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch d := status.Status().Details; {
		case d == nil:
		case d.Group == wavefrontv1.GroupVersion.Group, d.Group == eventsv1.GroupName:
			return "wavefront-wfctl-viewer (wavefront-wfctl-operator to write)"
		default:
			return "wavefront-wfctl-derive (wavefront-wfctl-operator to write)"
		}
	}
	return "wavefront-wfctl-viewer, wavefront-wfctl-derive or wavefront-wfctl-operator"
}

// explainAPI wraps an error of the API server with what to do about it.
func explainAPI(operation string, err error) error {
	switch {
	case apimeta.IsNoMatchError(err) || runtime.IsNotRegisteredError(err):
		return fmt.Errorf("failed to %s: its API is not installed in this cluster (is --context the right one?): %w", operation, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("failed to %s: not permitted; ask for the ClusterRole %s: %w", operation, roleFor(err), err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("failed to %s: the cluster does not accept your credentials: %w", operation, err)
	}
	return fmt.Errorf("failed to %s: %w", operation, err)
}
