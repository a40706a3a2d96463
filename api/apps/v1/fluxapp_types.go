// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// FluxAppKind is the kind of a FluxApp.
	FluxAppKind = "FluxApp"

	// FluxAppFinalizer keeps a FluxApp until what it kept is gone.
	FluxAppFinalizer = "apps.kloudy.uk/finalizer"

	// DefaultVersion is what spec.chart.version means when it is empty: the
	// newest version that is not a pre-release.
	DefaultVersion = "*"

	// LatestVersion is the value of spec.chart.version that leaves the choice
	// of the newest stable version to source-controller.
	LatestVersion = "latest"

	// DefaultInterval is what spec.interval means when it is empty.
	DefaultInterval = 10 * time.Minute

	// MaxNameLength is the longest name of a FluxApp, in bytes: it is also the
	// name of the Helm release, and Helm allows no more.
	MaxNameLength = 53
)

// FluxAppSpec says which chart runs where, and with which values.
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || self.provider == 'generic' || self.chart.repository.startsWith('oci://')",message="provider is only for an oci:// repository: a chart repository over HTTP has no cloud provider to log in to"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceAccountName) || self.chart.repository.startsWith('oci://')",message="serviceAccountName is only for an oci:// repository: image pull secrets do not log in to a chart repository over HTTP, use secretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.secretRef) || !has(self.provider) || self.provider == 'generic'",message="secretRef and provider are two ways to log in to one registry: set only one of them"
type FluxAppSpec struct {
	// Chart is the chart to run.
	// +required
	Chart ChartSpec `json:"chart"`

	// TargetNamespace is the namespace that the chart is installed in. It
	// defaults to the namespace of the FluxApp.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// CreateNamespace has the target namespace created with the first
	// installation if it does not exist. It is not removed again.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`

	// SecretRef names the Secret with the credentials for the repository, in
	// the namespace of the FluxApp. For an 'oci://' repository its type is
	// 'kubernetes.io/dockerconfigjson'; for 'http(s)://' it has the keys
	// 'username' and 'password'.
	// +optional
	SecretRef *fluxmeta.LocalObjectReference `json:"secretRef,omitempty"`

	// CertSecretRef names the Secret with the certificates for the connection
	// to the repository, in the namespace of the FluxApp: 'ca.crt' to trust,
	// 'tls.crt' and 'tls.key' to present, or both.
	// +optional
	CertSecretRef *fluxmeta.LocalObjectReference `json:"certSecretRef,omitempty"`

	// Provider is the cloud whose identity logs in to an 'oci://' repository.
	// It defaults to 'generic', which uses secretRef, if there is one.
	// +kubebuilder:validation:Enum=generic;aws;azure;gcp
	// +optional
	Provider string `json:"provider,omitempty"`

	// ServiceAccountName names a ServiceAccount in the namespace of the
	// FluxApp whose image pull secret logs in to an 'oci://' repository. It is
	// not the account that the chart is installed by. SecretRef, if set, is
	// used instead of the pull secret when the chart is fetched.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Values are the values for the chart.
	// +kubebuilder:validation:Type=object
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// ValuesFrom names ConfigMaps and Secrets with values, in the namespace of
	// the FluxApp. Later ones override earlier ones, and Values overrides all.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	ValuesFrom []fluxmeta.ValuesReference `json:"valuesFrom,omitempty"`

	// DependsOn names FluxApps (or HelmReleases) that must be ready before the
	// chart is installed or upgraded. An empty namespace means that of the
	// FluxApp.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	DependsOn []fluxmeta.DependencyReference `json:"dependsOn,omitempty"`

	// Interval at which the repository is looked at for new versions, and the
	// release for changes, at least one second. It defaults to ten minutes.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="interval must be at least 1s"
	// +kubebuilder:default="10m"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Suspend stops the looking for new versions, and every installation and
	// upgrade, until it is false again. Deleting a suspended FluxApp removes
	// its objects but leaves the Helm release as it is.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ChartSpec says where a chart is and which of its versions to run.
type ChartSpec struct {
	// Repository is the address of the chart: 'oci://HOST/PATH/CHART' in an
	// OCI registry, or 'https://HOST/PATH/CHART' (also 'http://') for the
	// chart CHART of the chart repository whose index is at
	// 'https://HOST/PATH/index.yaml'.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(oci|https?)://')`,message="repository must start with oci://, https:// or http://"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'^[a-z]+://[^/]*@')`,message="repository must not carry credentials: keep them in a Secret and name it in spec.secretRef"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'[?#\s]')`,message="repository must not contain a query, a fragment or white space"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'^(oci|https?)://') || self.matches(r'^[a-z]+://[^/]+(/[^/]+)+$')`,message="repository names no chart: the last element of its path is the chart's name, as in oci://HOST/PATH/CHART"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'^oci://[^/]+/.*[:@]')`,message="repository must not contain a tag or a digest: spec.chart.version says which version to run"
	// +kubebuilder:validation:XValidation:rule=`!self.startsWith('oci://') || self.matches(r'^oci://[^/]*((/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+([:@].*)?|/?)$')`,message="repository path must be of lower-case letters and digits with single separators, as OCI registries demand"
	// +required
	Repository string `json:"repository"`

	// Version is a complete semantic version ('6.5.4'), a constraint on
	// versions ('~> 6', '>=1.2 <2'), or 'latest'. It defaults to '*': the
	// newest version that is not a pre-release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`!self.contains('+') || self.matches(r'^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?\+[0-9A-Za-z.-]+$')`,message="version may contain a '+' only if it is one complete version, such as 1.2.3+build: build metadata has no order that a constraint could select by"
	// +kubebuilder:validation:XValidation:rule=`!self.contains('_')`,message="version must not contain a '_': where a registry's tag has one in place of the '+' of a version, write the '+'"
	// +kubebuilder:validation:XValidation:rule=`self == 'latest' || self.contains('+') || self.contains('_') || self.matches(r'^\s*((=|!=|<|>|<=|>=|=<|=>|~|~>|\^)?\s*v?([0-9]+|[xX*])(\.([0-9]+|[xX*]))?(\.([0-9]+|[xX*]))?(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\s+-\s+v?[0-9]+(\.[0-9]+)?(\.[0-9]+)?(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)?\s*(\|\||,|\s|$)\s*)+$') && !self.matches(r'(\|\||,)\s*$')`,message="version must be a semantic version (1.2.3), a constraint ('~> 6', '>=1.2 <2', '1.x || 2.x') or latest"
	// +kubebuilder:default="*"
	// +optional
	Version string `json:"version,omitempty"`
}

// FluxAppStatus is what is known of a FluxApp.
type FluxAppStatus struct {
	// ObservedGeneration is the generation of the spec that Ready or Stalled
	// speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, and Reconciling or Stalled while they are true.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Chart is the name of the chart.
	// +optional
	Chart string `json:"chart,omitempty"`

	// LatestVersion is the version that spec.chart.version selects now. It is
	// empty while none is selected, and where source-controller selects.
	// +optional
	LatestVersion string `json:"latestVersion,omitempty"`

	// AppliedVersion is the version of the chart that is deployed.
	// +optional
	AppliedVersion string `json:"appliedVersion,omitempty"`

	// Inventory lists the objects that are kept for this FluxApp.
	// +optional
	Inventory *ResourceInventory `json:"inventory,omitempty"`

	fluxmeta.ReconcileRequestStatus `json:",inline"`
}

// +genclient
// +kubebuilder:storageversion
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fa,categories=all;fluxcd;fluxcd-appliers
// +kubebuilder:printcolumn:name="Chart",type="string",JSONPath=".status.chart"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.appliedVersion"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 53",message="metadata.name must be no longer than 53 characters: it is the name of the Helm release too"

// FluxApp runs one chart from a registry.
type FluxApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec FluxAppSpec `json:"spec"`
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status FluxAppStatus `json:"status,omitempty"`
}

// FluxAppList is a list of FluxApps.
// +kubebuilder:object:root=true
type FluxAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FluxApp `json:"items"`
}

// GetConditions returns the conditions of the status.
func (in *FluxApp) GetConditions() []metav1.Condition {
	return in.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (in *FluxApp) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// GetTargetNamespace returns the namespace that the chart is installed in.
func (in *FluxApp) GetTargetNamespace() string {
	if in.Spec.TargetNamespace == "" {
		return in.GetNamespace()
	}
	return in.Spec.TargetNamespace
}

// GetVersion returns spec.chart.version with its default.
func (in *FluxApp) GetVersion() string {
	if in.Spec.Chart.Version == "" {
		return DefaultVersion
	}
	return in.Spec.Chart.Version
}

// GetInterval returns spec.interval with its default.
func (in *FluxApp) GetInterval() metav1.Duration {
	if in.Spec.Interval == nil || in.Spec.Interval.Duration <= 0 {
		return metav1.Duration{Duration: DefaultInterval}
	}
	return *in.Spec.Interval
}
