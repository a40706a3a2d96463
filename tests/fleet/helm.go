// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Helm stands in for helm-controller: it keeps the HelmChart of every HelmRelease of a
// fleet, which source-controller builds, and reports each chart as installed, in the
// fields that helm-controller reports it in. It installs nothing.
type Helm struct {
	client    client.Client
	namespace string
	cancel    context.CancelFunc
	done      sync.WaitGroup

	mu     sync.Mutex // held while it works
	paused bool
	failed map[string]bool // by HelmRelease
}

// StartHelm starts a Helm, until Close or the end of ctx.
func (f *Fleet) StartHelm(ctx context.Context) *Helm {
	ctx, cancel := context.WithCancel(ctx)
	h := &Helm{client: f.env.Client(), namespace: f.namespace, cancel: cancel, failed: map[string]bool{}}
	for _, list := range []client.ObjectList{&helmv2.HelmReleaseList{}, &sourcev1.HelmChartList{}} {
		h.done.Go(func() {
			err := watchEach(ctx, f.env.Client(), scope{list: list, namespace: f.namespace}, func(watch.EventType, client.Object) bool {
				h.work(ctx)
				return false
			})
			if ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "testfleet: nobody works on the HelmReleases of %q any more: %v\n", f.namespace, err)
			}
		})
	}
	return h
}

// Close ends it; the objects stay.
func (h *Helm) Close() {
	h.cancel()
	h.done.Wait()
}

// Pause has it look away, like a helm-controller that is busy elsewhere. When it
// returns nothing is under way.
func (h *Helm) Pause() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paused = true
}

// Resume has it catch up.
func (h *Helm) Resume(ctx context.Context) {
	h.mu.Lock()
	h.paused = false
	h.mu.Unlock()
	h.work(ctx)
}

// Fail has the upgrades of a HelmRelease fail from now on, or succeed again.
func (h *Helm) Fail(ctx context.Context, release string, fail bool) {
	h.mu.Lock()
	h.failed[release] = fail
	h.mu.Unlock()
	h.work(ctx)
}

// work looks at every HelmRelease.
func (h *Helm) work(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paused {
		return
	}
	if err := h.reconcileAll(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "testfleet: %v\n", err)
	}
}

func (h *Helm) reconcileAll(ctx context.Context) error {
	var releases helmv2.HelmReleaseList
	if err := h.client.List(ctx, &releases, client.InNamespace(h.namespace)); err != nil {
		return fmt.Errorf("failed to list HelmReleases of %q: %w", h.namespace, err)
	}
	var errs []error
	for i := range releases.Items {
		release := &releases.Items[i]
		if err := h.reconcile(ctx, release); err != nil {
			errs = append(errs, fmt.Errorf("failed to reconcile HelmRelease %q: %w", client.ObjectKeyFromObject(release), err))
		}
	}
	return errors.Join(errs...)
}

// reconcile keeps one HelmRelease's chart, and reports it once source-controller has
// built what is asked for.
func (h *Helm) reconcile(ctx context.Context, release *helmv2.HelmRelease) error {
	if release.Spec.Suspend || !release.HasChartTemplate() {
		return nil
	}
	chart, err := h.keepChart(ctx, release)
	if err != nil {
		return err
	}
	if chart.Status.Artifact == nil || chart.Status.ObservedGeneration != chart.Generation {
		return nil
	}
	ready := apimeta.FindStatusCondition(release.Status.Conditions, fluxmeta.ReadyCondition)
	attempted := release.Status.LastAttemptedRevision == chart.Status.Artifact.Revision && release.Status.LastAttemptedGeneration == release.Generation
	if attempted && ready != nil && (ready.Status == metav1.ConditionFalse) == h.failed[release.Name] {
		return nil
	}
	return h.report(ctx, release, chart)
}

func (h *Helm) keepChart(ctx context.Context, release *helmv2.HelmRelease) (*sourcev1.HelmChart, error) {
	template := release.Spec.Chart.Spec
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{
		Namespace: release.Spec.Chart.GetNamespace(release.Namespace), Name: release.GetHelmChartName(),
	}}
	_, err := controllerutil.CreateOrPatch(ctx, h.client, chart, func() error {
		chart.Labels = map[string]string{
			"helm.toolkit.fluxcd.io/name":      release.Name,
			"helm.toolkit.fluxcd.io/namespace": release.Namespace,
		}
		chart.Spec.Chart = template.Chart
		chart.Spec.Version = template.Version
		chart.Spec.ReconcileStrategy = template.ReconcileStrategy
		chart.Spec.SourceRef = sourcev1.LocalHelmChartSourceReference{Kind: template.SourceRef.Kind, Name: template.SourceRef.Name}
		chart.Spec.Interval = release.Spec.Chart.GetInterval(release.Spec.Interval)
		return nil
	})
	return chart, err
}

// report writes what helm-controller would after an upgrade to the chart.
func (h *Helm) report(ctx context.Context, release *helmv2.HelmRelease, chart *sourcev1.HelmChart) error {
	before := release.DeepCopy()
	ready := metav1.Condition{
		Type: fluxmeta.ReadyCondition, Status: metav1.ConditionTrue, ObservedGeneration: release.Generation,
		Reason: helmv2.UpgradeSucceededReason, Message: "Helm upgrade succeeded with chart " + chart.Status.Artifact.Revision,
	}
	if h.failed[release.Name] {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, helmv2.UpgradeFailedReason, "Helm upgrade failed"
	}
	apimeta.SetStatusCondition(&release.Status.Conditions, ready)
	release.Status.HelmChart = chart.Namespace + "/" + chart.Name
	release.Status.LastAttemptedRevision = chart.Status.Artifact.Revision
	release.Status.LastAttemptedGeneration = release.Generation
	release.Status.ObservedGeneration = release.Generation
	return h.client.Status().Patch(ctx, release, client.MergeFrom(before), client.FieldOwner("helm-controller"))
}
