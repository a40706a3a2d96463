// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The newest version that matches is installed from a registry with TLS and a
// password, and a newer one follows by itself.
func TestInstallsAndFollowsAConstraint(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "install")
	registry := newOCIRegistry(t, true)
	for _, version := range []string{"5.9.0", "6.0.0", "6.1.0", "6.2.0-rc.1", "7.0.0"} {
		registry.push(t, "team/charts/podinfo", version)
	}
	p.trust(t, registry.server)
	p.dockerLogin(t, "login", registry.address, password)
	app := p.app(t, "example", registry.chartURL("team/charts/podinfo"), "~> 6", trusting, loggingIn)

	p.expectReady(t, app, "6.1.0")
	p.expectKept(t, app, allKinds...)
	g.Expect(app.Status.Chart).To(Equal("podinfo"))
	release := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "example"}}
	p.fetch(t, release)
	g.Expect(summary(app)).To(HaveSuffix(release.Status.Conditions[0].Message))
	installed, ok := p.helm.release(client.ObjectKeyFromObject(app))
	g.Expect(ok).To(BeTrue())
	g.Expect(installed.chart).To(Equal(metadata{APIVersion: "v2", Name: "podinfo", Version: "6.1.0"}), "the chart that source-controller pulled")
	g.Expect(installed.name).To(Equal("example"))
	g.Expect(installed.namespace).To(Equal(p.namespace))

	registry.push(t, "team/charts/podinfo", "6.3.0")
	p.expectReady(t, app, "6.3.0")
}
