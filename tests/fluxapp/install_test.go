// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"encoding/json"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
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

// What 'kubectl get fa' prints.
func TestColumnsAndShortName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := sharedSuite(t).place(t, "columns")
	charts := newChartRepository(t, false, false)
	charts.publish("podinfo", "6.0.0")
	app := p.app(t, "example", charts.chartURL("podinfo"), "6.0.0")
	p.expectReady(t, app, "6.0.0")

	clients, err := kubernetes.NewForConfig(p.Config())
	g.Expect(err).NotTo(HaveOccurred())
	resources, err := clients.Discovery().ServerResourcesForGroupVersion(fluxappv1.GroupVersion.String())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resources.APIResources[0].ShortNames).To(Equal([]string{"fa"}))
	g.Expect(resources.APIResources[0].Namespaced).To(BeTrue())

	answer, err := clients.RESTClient().Get().AbsPath("/apis", "apps.kloudy.uk", "v1", "namespaces", p.namespace, "fluxapps").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	var table metav1.Table
	g.Expect(json.Unmarshal(answer, &table)).To(Succeed())
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	g.Expect(columns).To(Equal([]string{"Name", "Chart", "Version", "Ready", "Status", "Age"}))
	g.Expect(table.Rows[0].Cells[:5]).To(Equal([]any{"example", "podinfo", "6.0.0", "True",
		"Helm install succeeded for release " + p.namespace + "/example.v1 with chart podinfo@6.0.0"}))
}
