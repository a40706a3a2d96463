// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/patch"
	"github.com/fluxcd/pkg/runtime/predicates"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"
)

// helmController does what helm-controller does around an installation: it has
// source-controller fetch the chart, waits for dependencies, collects values,
// and writes the history. What it would install it keeps in a map.
type helmController struct {
	client client.Client
	// fetch returns the chart; tests of scale do without source-controller.
	fetch func(context.Context, *helmv2.HelmRelease) (metadata, error)

	mu        sync.Mutex
	installed map[client.ObjectKey]installation
	blocked   map[client.ObjectKey]bool
}

// installation is a Helm release, by its storage key.
type installation struct {
	name, namespace string
	createNamespace bool
	chart           metadata
	values          map[string]any
	revision        int
}

// notReadyError is the state of something that will be ready later.
type notReadyError struct{ reason, message string }

func (e *notReadyError) Error() string { return e.message }

func (d *helmController) setup(mgr ctrl.Manager, charts bool) error {
	changed := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{}))
	built := ctrl.NewControllerManagedBy(mgr).Named("helm-release-double").
		WithOptions(controller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: 4, RateLimiter: retries()}).
		For(&helmv2.HelmRelease{}, changed)
	if charts {
		built = built.Watches(&sourcev1.HelmChart{}, handler.EnqueueRequestsFromMapFunc(releaseOf))
	}
	return built.Complete(d)
}

const (
	releaseName      = "helm.toolkit.fluxcd.io/name"
	releaseNamespace = "helm.toolkit.fluxcd.io/namespace"
)

func releaseOf(_ context.Context, chart client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{
		Namespace: chart.GetLabels()[releaseNamespace], Name: chart.GetLabels()[releaseName]}}}
}

// installation returns the Helm release of a HelmRelease.
func (d *helmController) release(key client.ObjectKey) (installation, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.installed[key]
	return found, ok
}

// block has the uninstallation of a release take until it is called again.
func (d *helmController) block(key client.ObjectKey, blocked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocked[key] = blocked
}

func (d *helmController) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	release := &helmv2.HelmRelease{}
	if err := d.client.Get(ctx, request.NamespacedName, release); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !release.DeletionTimestamp.IsZero() {
		return d.uninstall(ctx, release)
	}
	patcher := patch.NewSerialPatcher(release, d.client)
	if controllerutil.AddFinalizer(release, helmv2.HelmReleaseFinalizer) {
		if err := patcher.Patch(ctx, release, patch.WithFieldOwner("gotk-helm-controller")); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if release.Spec.Suspend {
		return ctrl.Result{}, nil
	}
	result, err := d.install(ctx, release)
	options := []patch.Option{patch.WithFieldOwner("gotk-helm-controller")}
	if conditions.IsReady(release) {
		options = append(options, patch.WithStatusObservedGeneration{})
	}
	return result, errors.Join(err, ignoreGone(patcher.Patch(ctx, release, options...)))
}

func (d *helmController) install(ctx context.Context, release *helmv2.HelmRelease) (ctrl.Result, error) {
	for _, step := range []func(context.Context, *helmv2.HelmRelease) error{d.dependencies, d.act} {
		var waiting *notReadyError
		if err := step(ctx, release); errors.As(err, &waiting) {
			conditions.MarkReconciling(release, fluxmeta.ProgressingWithRetryReason, "%s", waiting.message)
			conditions.MarkFalse(release, fluxmeta.ReadyCondition, waiting.reason, "%s", waiting.message)
			return ctrl.Result{RequeueAfter: 500 * time.Millisecond}, nil
		} else if err != nil {
			return ctrl.Result{}, err
		}
	}
	if requested, ok := fluxmeta.ReconcileAnnotationValue(release.Annotations); ok {
		release.Status.SetLastHandledReconcileRequest(requested)
	}
	return ctrl.Result{RequeueAfter: release.GetRequeueAfter()}, nil
}

func (d *helmController) dependencies(ctx context.Context, release *helmv2.HelmRelease) error {
	for _, dependency := range release.GetDependsOn() {
		key := client.ObjectKey{Namespace: dependency.Namespace, Name: dependency.Name}
		if key.Namespace == "" {
			key.Namespace = release.Namespace
		}
		found := &helmv2.HelmRelease{}
		if err := d.client.Get(ctx, key, found); err != nil || !conditions.IsReady(found) || found.Status.ObservedGeneration != found.Generation {
			return &notReadyError{helmv2.DependencyNotReadyReason, fmt.Sprintf("dependency '%s' is not ready", key)}
		}
	}
	return nil
}

func (d *helmController) act(ctx context.Context, release *helmv2.HelmRelease) error {
	chart, err := d.fetch(ctx, release)
	if err != nil {
		return err
	}
	values, err := d.values(ctx, release)
	if err != nil {
		return err
	}
	release.Status.LastAttemptedGeneration = release.Generation
	release.Status.LastAttemptedRevision = chart.Version
	if values["fail"] == true {
		return &notReadyError{helmv2.InstallFailedReason, fmt.Sprintf("Helm install failed for release %s/%s with chart %s@%s: boom",
			release.GetReleaseNamespace(), release.GetReleaseName(), chart.Name, chart.Version)}
	}
	if !d.deployed(release, chart, values) {
		d.deploy(release, chart, values)
	}
	ready := conditions.Get(release, helmv2.ReleasedCondition)
	conditions.Delete(release, fluxmeta.ReconcilingCondition)
	conditions.MarkTrue(release, fluxmeta.ReadyCondition, ready.Reason, "%s", ready.Message)
	return nil
}

// deployed tells whether there is nothing to do, as drift detection does.
func (d *helmController) deployed(release *helmv2.HelmRelease, chart metadata, values map[string]any) bool {
	installed, ok := d.release(client.ObjectKeyFromObject(release))
	return ok && conditions.Has(release, helmv2.ReleasedCondition) && installed.chart == chart &&
		installed.namespace == release.GetReleaseNamespace() && installed.name == release.GetReleaseName() &&
		installed.createNamespace == release.GetInstall().CreateNamespace && reflect.DeepEqual(installed.values, values)
}

func (d *helmController) deploy(release *helmv2.HelmRelease, chart metadata, values map[string]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := client.ObjectKeyFromObject(release)
	revision := d.installed[key].revision + 1
	reason, verb := helmv2.InstallSucceededReason, "install"
	if revision > 1 {
		reason, verb = helmv2.UpgradeSucceededReason, "upgrade"
	}
	d.installed[key] = installation{
		name: release.GetReleaseName(), namespace: release.GetReleaseNamespace(),
		createNamespace: release.GetInstall().CreateNamespace,
		chart:           chart, values: values, revision: revision,
	}
	for _, snapshot := range release.Status.History {
		snapshot.Status = "superseded"
	}
	release.Status.History = append(helmv2.Snapshots{{
		Digest: "sha256:0", ConfigDigest: "sha256:0", Name: release.GetReleaseName(), Namespace: release.GetReleaseNamespace(),
		Version: revision, Status: "deployed", ChartName: chart.Name, ChartVersion: chart.Version,
		FirstDeployed: metav1.Now(), LastDeployed: metav1.Now(),
	}}, release.Status.History...)
	release.Status.History = release.Status.History[:min(2, len(release.Status.History))]
	message := fmt.Sprintf("Helm %s succeeded for release %s/%s.v%d with chart %s@%s", verb,
		release.GetReleaseNamespace(), release.GetReleaseName(), revision, chart.Name, chart.Version)
	conditions.MarkTrue(release, helmv2.ReleasedCondition, reason, "%s", message)
}

// values merges what valuesFrom names with the release's own.
func (d *helmController) values(ctx context.Context, release *helmv2.HelmRelease) (map[string]any, error) {
	merged := map[string]any{}
	for _, from := range release.Spec.ValuesFrom {
		content, err := d.valuesFrom(ctx, release.Namespace, from)
		if err != nil {
			return nil, &notReadyError{"ValuesError", fmt.Sprintf("could not resolve %s chart values reference '%s/%s': %s", from.Kind, release.Namespace, from.Name, err)}
		}
		if err := yaml.Unmarshal(content, &merged); err != nil {
			return nil, err
		}
	}
	if release.Spec.Values != nil {
		if err := yaml.Unmarshal(release.Spec.Values.Raw, &merged); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

func (d *helmController) valuesFrom(ctx context.Context, namespace string, from fluxmeta.ValuesReference) ([]byte, error) {
	key := client.ObjectKey{Namespace: namespace, Name: from.Name}
	if from.Kind == "Secret" {
		var secret corev1.Secret
		err := d.client.Get(ctx, key, &secret)
		return secret.Data[from.GetValuesKey()], err
	}
	var config corev1.ConfigMap
	err := d.client.Get(ctx, key, &config)
	return []byte(config.Data[from.GetValuesKey()]), err
}

// fetchChart has source-controller fetch the chart by a HelmChart, and reads it
// from the artifact.
func (d *helmController) fetchChart(ctx context.Context, release *helmv2.HelmRelease) (metadata, error) {
	template := release.Spec.Chart.Spec
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: release.GetHelmChartName()}}
	_, err := controllerutil.CreateOrPatch(ctx, d.client, chart, func() error {
		chart.Labels = map[string]string{releaseName: release.Name, releaseNamespace: release.Namespace}
		chart.Spec.Chart, chart.Spec.Version, chart.Spec.Interval = template.Chart, template.Version, release.Spec.Interval
		chart.Spec.SourceRef = sourcev1.LocalHelmChartSourceReference{Kind: template.SourceRef.Kind, Name: template.SourceRef.Name}
		return nil
	})
	if err != nil {
		return metadata{}, err
	}
	release.Status.HelmChart = chart.Namespace + "/" + chart.Name
	ready := conditions.Get(chart, fluxmeta.ReadyCondition)
	if ready == nil || chart.Generation != chart.Status.ObservedGeneration || ready.Status != metav1.ConditionTrue || chart.Status.Artifact == nil {
		message := "latest generation of object has not been reconciled"
		if ready != nil && ready.Status == metav1.ConditionFalse {
			message = ready.Message
		}
		return metadata{}, &notReadyError{"SourceNotReady", fmt.Sprintf("HelmChart '%s/%s' is not ready: %s", chart.Namespace, chart.Name, message)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, chart.Status.Artifact.URL, nil)
	if err != nil {
		return metadata{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return metadata{}, err
	}
	defer func() { _ = response.Body.Close() }()
	return readChart(response.Body)
}

func (d *helmController) uninstall(ctx context.Context, release *helmv2.HelmRelease) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(release, helmv2.HelmReleaseFinalizer) {
		return ctrl.Result{}, nil
	}
	key := client.ObjectKeyFromObject(release)
	d.mu.Lock()
	blocked := d.blocked[key]
	if !blocked && !release.Spec.Suspend {
		delete(d.installed, key)
	}
	d.mu.Unlock()
	if blocked {
		return ctrl.Result{RequeueAfter: 200 * time.Millisecond}, nil
	}
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: release.GetHelmChartName()}}
	if err := d.client.Delete(ctx, chart); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	patcher := patch.NewSerialPatcher(release, d.client)
	controllerutil.RemoveFinalizer(release, helmv2.HelmReleaseFinalizer)
	return ctrl.Result{}, ignoreGone(patcher.Patch(ctx, release, patch.WithFieldOwner("gotk-helm-controller")))
}

// retries keeps the doubles quick: what they wait for is on this machine.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, time.Second)
}

func ignoreGone(err error) error {
	return client.IgnoreNotFound(err)
}
