// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects are the Flux objects of one FluxApp: what they should be, or what
// they were last seen to be. One that should not be, or was not seen, is nil.
// All have the FluxApp's name and namespace.
type Objects struct {
	ImageRepository *imagev1.ImageRepository
	ImagePolicy     *imagev1.ImagePolicy
	HelmRepository  *sourcev1.HelmRepository
	HelmRelease     *helmv2.HelmRelease
}

// The two capture groups of a tag: the version without build metadata, and the
// metadata, which a tag carries behind a '_'. An ImagePolicy would not take
// such a tag for a version, and precedence ignores the metadata anyway.
const (
	tagPattern = `^(?P<version>[^_]+)(_.*)?$`
	tagExtract = `$version`
)

// Needed returns the kinds of objects that the intent takes, wanted or not
// yet. What it leaves out must not exist.
func (i Intent) Needed() []string {
	needed := []string{sourcev1.HelmRepositoryKind, helmv2.HelmReleaseKind}
	if i.Selects() {
		needed = append(needed, imagev1.ImageRepositoryKind, imagev1.ImagePolicyKind)
	}
	return needed
}

// Desired returns the objects as they should be, given what was observed. The
// Helm objects are left out while no version is known: then they stay as they
// are, if they exist.
func (i Intent) Desired(observed Objects) Objects {
	var desired Objects
	if i.Selects() {
		desired.ImageRepository = i.imageRepository()
		desired.ImagePolicy = i.imagePolicy()
	}
	if version, known := i.releaseVersion(observed); known {
		desired.HelmRepository = i.helmRepository()
		desired.HelmRelease = i.helmRelease(version)
	}
	return desired
}

func (i Intent) imageRepository() *imagev1.ImageRepository {
	spec := i.App.Spec
	return &imagev1.ImageRepository{
		TypeMeta:   typeMeta(imagev1.GroupVersion.String(), imagev1.ImageRepositoryKind),
		ObjectMeta: i.objectMeta(),
		Spec: imagev1.ImageRepositorySpec{
			Image:              i.Repository.Image,
			Interval:           i.App.GetInterval(),
			SecretRef:          spec.SecretRef.DeepCopy(),
			CertSecretRef:      spec.CertSecretRef.DeepCopy(),
			ServiceAccountName: spec.ServiceAccountName,
			Provider:           spec.Provider,
			Suspend:            spec.Suspend,
		},
	}
}

func (i Intent) imagePolicy() *imagev1.ImagePolicy {
	return &imagev1.ImagePolicy{
		TypeMeta:   typeMeta(imagev1.GroupVersion.String(), imagev1.ImagePolicyKind),
		ObjectMeta: i.objectMeta(),
		Spec: imagev1.ImagePolicySpec{
			ImageRepositoryRef: fluxmeta.NamespacedObjectReference{Name: i.App.Name},
			Policy:             imagev1.ImagePolicyChoice{SemVer: &imagev1.SemVerPolicy{Range: i.Version.Text()}},
			FilterTags:         &imagev1.TagFilter{Pattern: tagPattern, Extract: tagExtract},
			Suspend:            i.App.Spec.Suspend,
		},
	}
}

func (i Intent) helmRepository() *sourcev1.HelmRepository {
	spec := i.App.Spec
	repository := &sourcev1.HelmRepository{
		TypeMeta:   typeMeta(sourcev1.GroupVersion.String(), sourcev1.HelmRepositoryKind),
		ObjectMeta: i.objectMeta(),
		Spec: sourcev1.HelmRepositorySpec{
			Type:          sourcev1.HelmRepositoryTypeDefault,
			URL:           i.Repository.URL,
			Interval:      i.App.GetInterval(),
			SecretRef:     spec.SecretRef.DeepCopy(),
			CertSecretRef: spec.CertSecretRef.DeepCopy(),
			Suspend:       spec.Suspend,
		},
	}
	if i.Repository.OCI() {
		repository.Spec.Type = sourcev1.HelmRepositoryTypeOCI
		repository.Spec.Provider = spec.Provider
		if repository.Spec.SecretRef == nil && i.PullSecret != "" {
			repository.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: i.PullSecret}
		}
	}
	return repository
}

func (i Intent) helmRelease(version string) *helmv2.HelmRelease {
	spec := i.App.Spec
	release := &helmv2.HelmRelease{
		TypeMeta:   typeMeta(helmv2.GroupVersion.String(), helmv2.HelmReleaseKind),
		ObjectMeta: i.objectMeta(),
		Spec: helmv2.HelmReleaseSpec{
			ReleaseName:     i.App.Name,
			TargetNamespace: i.App.GetTargetNamespace(),
			Interval:        i.App.GetInterval(),
			Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart:   i.Repository.Chart,
				Version: version,
				SourceRef: helmv2.CrossNamespaceObjectReference{
					Kind: sourcev1.HelmRepositoryKind,
					Name: i.App.Name,
				},
			}},
			Suspend:    spec.Suspend,
			Values:     spec.Values.DeepCopy(),
			ValuesFrom: spec.ValuesFrom,
			DependsOn:  spec.DependsOn,
		},
	}
	if spec.CreateNamespace {
		release.Spec.Install = &helmv2.Install{CreateNamespace: true}
	}
	return release
}

func (i Intent) objectMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: i.App.Namespace, Name: i.App.Name}
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}
