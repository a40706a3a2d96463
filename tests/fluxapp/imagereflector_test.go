// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/patch"
	"github.com/fluxcd/pkg/runtime/predicates"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// imageReflector does what image-reflector-controller does: it lists the tags of
// image repositories and selects by semver, and says so in their status.
type imageReflector struct {
	client client.Client
	// list returns the tags of a repository; tests of scale do without a registry.
	list  func(context.Context, *imagev1.ImageRepository) ([]string, error)
	scans sync.Map // client.ObjectKey to scan
}

// scan is the result that image-reflector-controller keeps in its database.
type scan struct {
	image string
	tags  []string
}

func (d *imageReflector) setup(mgr ctrl.Manager) error {
	options := controller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: 4, RateLimiter: retries()}
	changed := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{}))
	err := ctrl.NewControllerManagedBy(mgr).Named("image-repository-double").WithOptions(options).
		For(&imagev1.ImageRepository{}, changed).Complete(reconcile.Func(d.reconcileRepository))
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("image-policy-double").WithOptions(options).
		For(&imagev1.ImagePolicy{}, changed).
		Watches(&imagev1.ImageRepository{}, handler.EnqueueRequestsFromMapFunc(d.policiesOf)).
		Complete(reconcile.Func(d.reconcilePolicy))
}

func (d *imageReflector) policiesOf(ctx context.Context, repository client.Object) []reconcile.Request {
	var policies imagev1.ImagePolicyList
	if err := d.client.List(ctx, &policies, client.InNamespace(repository.GetNamespace())); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, policy := range policies.Items {
		if policy.Spec.ImageRepositoryRef.Name == repository.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&policy)})
		}
	}
	return requests
}

func (d *imageReflector) reconcileRepository(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	repository := &imagev1.ImageRepository{}
	if err := d.client.Get(ctx, request.NamespacedName, repository); err != nil {
		d.scans.Delete(request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if repository.Spec.Suspend || !repository.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	patcher := patch.NewSerialPatcher(repository, d.client)
	tags, err := d.list(ctx, repository)
	if err != nil {
		conditions.MarkReconciling(repository, fluxmeta.ProgressingWithRetryReason, "reconciliation in progress")
		conditions.MarkFalse(repository, fluxmeta.ReadyCondition, imagev1.ReadOperationFailedReason, "scan failed: %s", err)
		return ctrl.Result{}, errors.Join(err, ignoreGone(patcher.Patch(ctx, repository, patch.WithFieldOwner("gotk-image-reflector-controller"))))
	}
	slices.Sort(tags)
	d.scans.Store(request.NamespacedName, scan{image: repository.Spec.Image, tags: tags})
	repository.Status.CanonicalImageName = repository.Spec.Image
	repository.Status.LastScanResult = &imagev1.ScanResult{TagCount: len(tags), ScanTime: metav1.Now(), Revision: fmt.Sprint(len(tags))}
	if requested, ok := fluxmeta.ReconcileAnnotationValue(repository.Annotations); ok {
		repository.Status.SetLastHandledReconcileRequest(requested)
	}
	conditions.Delete(repository, fluxmeta.ReconcilingCondition)
	conditions.MarkTrue(repository, fluxmeta.ReadyCondition, fluxmeta.SucceededReason, "successful scan: found %d tags", len(tags))
	err = patcher.Patch(ctx, repository, patch.WithFieldOwner("gotk-image-reflector-controller"), patch.WithStatusObservedGeneration{})
	return ctrl.Result{RequeueAfter: repository.GetRequeueAfter()}, ignoreGone(err)
}

func (d *imageReflector) reconcilePolicy(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	policy := &imagev1.ImagePolicy{}
	if err := d.client.Get(ctx, request.NamespacedName, policy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if policy.Spec.Suspend || !policy.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	patcher := patch.NewSerialPatcher(policy, d.client)
	options := []patch.Option{patch.WithFieldOwner("gotk-image-reflector-controller")}
	policy.Status.LatestRef = nil
	conditions.Delete(policy, fluxmeta.ReconcilingCondition)
	found, ok := d.scans.Load(client.ObjectKey{Namespace: policy.Namespace, Name: policy.Spec.ImageRepositoryRef.Name})
	if !ok {
		conditions.MarkFalse(policy, fluxmeta.ReadyCondition, imagev1.DependencyNotReadyReason, "referenced ImageRepository has not been scanned yet")
		return ctrl.Result{}, ignoreGone(patcher.Patch(ctx, policy, options...))
	}
	tag, err := selectTag(policy.Spec, found.(scan).tags)
	if err != nil {
		conditions.MarkReconciling(policy, fluxmeta.ProgressingWithRetryReason, "reconciliation in progress")
		conditions.MarkFalse(policy, fluxmeta.ReadyCondition, metav1.StatusFailure, "%s", err)
		return ctrl.Result{}, ignoreGone(patcher.Patch(ctx, policy, options...))
	}
	policy.Status.LatestRef = &imagev1.ImageRef{Name: found.(scan).image, Tag: tag}
	conditions.MarkTrue(policy, fluxmeta.ReadyCondition, fluxmeta.SucceededReason,
		"Latest image tag for %s resolved to %s", found.(scan).image, tag)
	return ctrl.Result{}, ignoreGone(patcher.Patch(ctx, policy, append(options, patch.WithStatusObservedGeneration{})...))
}

// selectTag filters and orders tags as an ImagePolicy of type semver does.
func selectTag(spec imagev1.ImagePolicySpec, tags []string) (string, error) {
	constraint, err := semver.NewConstraint(spec.Policy.SemVer.Range)
	if err != nil {
		return "", err
	}
	filter, extract := regexp.MustCompile(".*"), "$0"
	if spec.FilterTags != nil {
		filter, extract = regexp.MustCompile(spec.FilterTags.Pattern), spec.FilterTags.Extract
	}
	if len(tags) == 0 {
		return "", errors.New("version list argument cannot be empty")
	}
	var newest *semver.Version
	var selected string
	for _, tag := range tags {
		match := filter.FindStringSubmatchIndex(tag)
		if match == nil {
			continue
		}
		text := string(filter.ExpandString(nil, extract, tag, match))
		version, err := semver.NewVersion(text)
		if err != nil || strings.Count(text, ".") < 2 || !constraint.Check(version) {
			continue
		}
		if newest == nil || version.GreaterThan(newest) {
			newest, selected = version, tag
		}
	}
	if newest == nil {
		return "", errors.New("unable to determine latest version from provided list")
	}
	return selected, nil
}

// listTags asks a real registry, with the credentials that the repository names.
func (d *imageReflector) listTags(ctx context.Context, repository *imagev1.ImageRepository) ([]string, error) {
	image, err := name.NewRepository(repository.Spec.Image)
	if err != nil {
		return nil, err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithRetryBackoff(remote.Backoff{Duration: time.Millisecond, Steps: 1})}
	if ref := repository.Spec.CertSecretRef; ref != nil {
		secret, err := d.secret(ctx, repository.Namespace, ref.Name)
		if err != nil {
			return nil, err
		}
		options = append(options, remote.WithTransport(transport(secret.Data["ca.crt"])))
	}
	pullSecret, err := d.pullSecret(ctx, repository)
	if err != nil {
		return nil, err
	}
	if pullSecret != "" {
		secret, err := d.secret(ctx, repository.Namespace, pullSecret)
		if err != nil {
			return nil, err
		}
		login, err := loginOf(secret, image.RegistryStr())
		if err != nil {
			return nil, err
		}
		options = append(options, remote.WithAuth(login))
	}
	return remote.List(image, options...)
}

func (d *imageReflector) pullSecret(ctx context.Context, repository *imagev1.ImageRepository) (string, error) {
	if repository.Spec.SecretRef != nil {
		return repository.Spec.SecretRef.Name, nil
	}
	if repository.Spec.ServiceAccountName == "" {
		return "", nil
	}
	var account corev1.ServiceAccount
	key := client.ObjectKey{Namespace: repository.Namespace, Name: repository.Spec.ServiceAccountName}
	if err := d.client.Get(ctx, key, &account); err != nil {
		return "", err
	}
	if len(account.ImagePullSecrets) == 0 {
		return "", nil
	}
	return account.ImagePullSecrets[0].Name, nil
}

func (d *imageReflector) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, d.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
}

func loginOf(secret *corev1.Secret, registry string) (authn.Authenticator, error) {
	var config struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(secret.Data[corev1.DockerConfigJsonKey], &config); err != nil {
		return nil, fmt.Errorf("secret %q is not of type kubernetes.io/dockerconfigjson: %w", secret.Name, err)
	}
	return authn.FromConfig(config.Auths[registry]), nil
}

// fixedTags stands for a registry with three versions of everything.
func fixedTags(context.Context, *imagev1.ImageRepository) ([]string, error) {
	return []string{"6.0.0", "6.1.0", "7.0.0"}, nil
}
