// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
)

const (
	patience = 60 * time.Second
	often    = 50 * time.Millisecond
)

// place is a namespace with the credentials of the test's servers in it.
type place struct {
	*suite
	namespace string
}

func (s *suite) place(t *testing.T, prefix string) place {
	t.Helper()
	return place{suite: s, namespace: s.Namespace(t, prefix)}
}

func (p place) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		object.SetNamespace(p.namespace)
		if err := p.Client().Create(t.Context(), object); err != nil {
			t.Fatalf("failed to create %T %q: %v", object, client.ObjectKeyFromObject(object), err)
		}
	}
}

// trust makes the Secret 'ca' with a server's certificate.
func (p place) trust(t *testing.T, s *server) {
	t.Helper()
	p.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string][]byte{"ca.crt": s.ca}})
}

// dockerLogin makes a Secret to log in to a registry with.
func (p place) dockerLogin(t *testing.T, name, registry, secret string) {
	t.Helper()
	content, err := json.Marshal(map[string]any{"auths": map[string]any{registry: map[string]string{"username": user, "password": secret}}})
	if err != nil {
		t.Fatal(err)
	}
	p.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: content}})
}

// app makes a FluxApp that looks at its repository every two seconds.
func (p place) app(t *testing.T, name, repository, version string, change ...func(*fluxappv1.FluxAppSpec)) *fluxappv1.FluxApp {
	t.Helper()
	app := &fluxappv1.FluxApp{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: fluxappv1.FluxAppSpec{
			Chart:    fluxappv1.ChartSpec{Repository: repository, Version: version},
			Interval: &metav1.Duration{Duration: 2 * time.Second},
		},
	}
	for _, c := range change {
		c(&app.Spec)
	}
	p.create(t, app)
	return app
}

func trusting(spec *fluxappv1.FluxAppSpec) {
	spec.CertSecretRef = &fluxmeta.LocalObjectReference{Name: "ca"}
}

func loggingIn(spec *fluxappv1.FluxAppSpec) {
	spec.SecretRef = &fluxmeta.LocalObjectReference{Name: "login"}
}

// change edits a FluxApp's spec as somebody with kubectl does.
func (p place) change(t *testing.T, app *fluxappv1.FluxApp, change func(*fluxappv1.FluxAppSpec)) {
	t.Helper()
	p.fetch(t, app)
	base := app.DeepCopy()
	change(&app.Spec)
	if err := p.Client().Patch(t.Context(), app, client.MergeFrom(base)); err != nil {
		t.Fatalf("failed to change FluxApp: %v", err)
	}
}

func (p place) fetch(t *testing.T, object client.Object) {
	t.Helper()
	if err := p.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatalf("failed to get %T %q: %v", object, client.ObjectKeyFromObject(object), err)
	}
}

// expectReady waits until a FluxApp is ready with a version at its present
// generation, and checks that its status is as kstatus wants it.
func (p place) expectReady(t *testing.T, app *fluxappv1.FluxApp, version string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		g.Expect(p.Client().Get(t.Context(), client.ObjectKeyFromObject(app), app)).To(Succeed())
		g.Expect(summary(app)).To(HavePrefix("True"))
		g.Expect(app.Status.ObservedGeneration).To(Equal(app.Generation), summary(app))
		g.Expect(app.Status.AppliedVersion).To(Equal(version), summary(app))
	}, patience, often).Should(Succeed())
	g.Expect(app.Status.LatestVersion).To(Equal(version))
	p.checkStatus(t, app)
}

// expectFailed waits until Ready is False with a message.
func (p place) expectFailed(t *testing.T, app *fluxappv1.FluxApp, reason string, message ...string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		g.Expect(p.Client().Get(t.Context(), client.ObjectKeyFromObject(app), app)).To(Succeed())
		g.Expect(summary(app)).To(HavePrefix("False " + reason + ": "))
		g.Expect(conditions.Get(app, fluxmeta.ReadyCondition).ObservedGeneration).To(Equal(app.Generation))
		for _, part := range message {
			g.Expect(summary(app)).To(ContainSubstring(part))
		}
	}, patience, often).Should(Succeed())
	p.checkStatus(t, app)
}

var negative = []string{fluxmeta.StalledCondition, fluxmeta.ReconcilingCondition}

func (p place) checkStatus(t *testing.T, app *fluxappv1.FluxApp) {
	t.Helper()
	checker := check.NewChecker(p.Client(), &check.Conditions{NegativePolarity: negative})
	checker.DisableFetch = true
	checker.WithT(NewWithT(t)).CheckErr(t.Context(), app)
}

// summary is the Ready condition in one line.
func summary(app *fluxappv1.FluxApp) string {
	ready := conditions.Get(app, fluxmeta.ReadyCondition)
	if ready == nil {
		return "no Ready condition"
	}
	return fmt.Sprintf("%s %s: %s", ready.Status, ready.Reason, ready.Message)
}

// kept are the objects of a FluxApp by kind; what does not exist is left out.
func (p place) kept(ctx context.Context, app *fluxappv1.FluxApp) (map[string]client.Object, error) {
	found := map[string]client.Object{}
	for kind, object := range map[string]client.Object{
		"ImageRepository": &imagev1.ImageRepository{},
		"ImagePolicy":     &imagev1.ImagePolicy{},
		"HelmRepository":  &sourcev1.HelmRepository{},
		"HelmRelease":     &helmv2.HelmRelease{},
	} {
		err := p.Client().Get(ctx, client.ObjectKeyFromObject(app), object)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			found[kind] = object
		}
	}
	return found, nil
}

// expectKept waits until exactly the given kinds exist, and are in the inventory.
func (p place) expectKept(t *testing.T, app *fluxappv1.FluxApp, kinds ...string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		found, err := p.kept(t.Context(), app)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names(found)).To(ConsistOf(kinds))
		g.Expect(p.Client().Get(t.Context(), client.ObjectKeyFromObject(app), app)).To(Succeed())
		g.Expect(inventoryKinds(app)).To(ConsistOf(kinds))
	}, patience, often).Should(Succeed())
}

func names(objects map[string]client.Object) []string {
	var kinds []string
	for kind := range objects {
		kinds = append(kinds, kind)
	}
	return kinds
}

var (
	helmKinds = []string{"HelmRepository", "HelmRelease"}
	allKinds  = []string{"ImageRepository", "ImagePolicy", "HelmRepository", "HelmRelease"}
)

func inventoryKinds(app *fluxappv1.FluxApp) []string {
	if app.Status.Inventory == nil {
		return nil
	}
	var kinds []string
	for _, entry := range app.Status.Inventory.Entries {
		for _, kind := range allKinds {
			if entry.ID == fmt.Sprintf("%s_%s_%s_%s", app.Namespace, app.Name, gvks[kind].Group, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

var gvks = map[string]schema.GroupVersionKind{
	"ImageRepository": imagev1.GroupVersion.WithKind("ImageRepository"),
	"ImagePolicy":     imagev1.GroupVersion.WithKind("ImagePolicy"),
	"HelmRepository":  sourcev1.GroupVersion.WithKind("HelmRepository"),
	"HelmRelease":     helmv2.GroupVersion.WithKind("HelmRelease"),
}
