// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// elsewhere are permissions that can't be used here, and why.
var elsewhere = map[string]string{
	"get serviceaccounts":                      "workload identity of an object needs a cloud",
	"create serviceaccounts/token":             "workload identity of an object needs a cloud",
	"list helmcharts.source.toolkit.fluxcd.io": "API servers before 1.34 don't stream lists to watches",
}

// TestPermissions: under the roles that are shipped nothing is forbidden, and
// nothing that they grant is unused. Read from the audit log of a rollout with
// everything in it: leader election, a private repository, a chart, a deletion.
func TestPermissions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	e := env.ForTest(t, env.Options{Audit: true})
	fleet, err := testfleet.New(ctx, e, e.Namespace(t, "permissions"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(fleet.Close)
	binary, err := program()
	g.Expect(err).NotTo(HaveOccurred())
	controller, err := e.NewController(ctx, env.ControllerOptions{Binary: binary, Args: []string{
		"--enable-leader-election", "--leader-election-lease-duration=3s",
		"--leader-election-renew-deadline=2s", "--leader-election-retry-period=1s",
	}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(controller.Start(ctx)).To(Succeed())

	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleet.Namespace(), Name: "git"},
		StringData: map[string]string{"username": "flux", "password": "secret"},
	}
	g.Expect(e.Client().Create(ctx, credentials)).To(Succeed())
	private := testfleet.Node{Name: "db", MutateSource: func(r *sourcev1.GitRepository) {
		r.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: "git"}
	}}
	g.Expect(fleet.Add(ctx, private, testfleet.Node{Name: "app", DependsOn: []string{"db"}})).To(Succeed())
	repo, err := fleet.Repository("db")
	g.Expect(err).NotTo(HaveOccurred())
	repo.RequireBasicAuth("flux", "secret")
	timeline, err := fleet.Record(ctx, nil)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(timeline.Close)
	s := &story{Fleet: fleet, env: e, controller: controller, timeline: timeline}
	initial := s.pushChart(ctx, g, "app", "one")
	g.Expect(fleet.AwaitReady(ctx)).To(Succeed())
	// A release that no node applied counts for every node of its source.
	app := &release{client: e.Client(), namespace: fleet.Namespace(), name: "app", source: "app"}
	app.create(ctx, g)
	source, err := fleet.AwaitSource(ctx, "app", func(r *sourcev1.GitRepository) bool { return testfleet.ArtifactOf(r) != "" })
	g.Expect(err).NotTo(HaveOccurred())
	app.deploy(ctx, g, app.awaitChart(ctx, g, testfleet.ArtifactOf(source)))
	s.create(ctx, g, wavefrontv1.ModeEnforce)

	commits := s.push(ctx, g, "app", "db")
	g.Expect(s.AwaitPinned(ctx, "app", commits["app"])).To(Succeed(), "after "+initial)
	app.deploy(ctx, g, app.awaitChart(ctx, g, commits["app"]))
	s.awaitPhase(ctx, g, wavefrontv1.PhaseQuiescent)
	g.Expect(e.Client().Delete(ctx, s.wavefront)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(e.Client().Get(ctx, s.wavefrontKey(), &wavefrontv1.Wavefront{}))
	}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
	g.Expect(controller.Stop()).To(Succeed())

	events, err := e.AuditLog().Events()
	g.Expect(err).NotTo(HaveOccurred())
	used := map[string]bool{}
	for _, event := range events {
		if event.User.Username != env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName) || event.ObjectRef.Resource == "" {
			continue
		}
		o := event.ObjectRef
		what := permission(event.Verb, o.APIGroup, o.Resource, o.Subresource)
		g.Expect(event.IsForbidden()).To(BeFalse(), "forbidden: "+what)
		used[what] = true
	}
	unused := granted(g)
	for what := range used {
		delete(unused, what)
	}
	for what := range elsewhere {
		g.Expect(unused).To(HaveKey(what), "listed as not used here, but it is used, or not granted")
		delete(unused, what)
	}
	g.Expect(slices.Sorted(maps.Keys(unused))).To(BeEmpty(), "granted, but not used")
}

func permission(verb, group, resource, subresource string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

// granted lists what the controller's own roles allow, one by one.
func granted(g *WithT) map[string]bool {
	objects, err := env.BuildKustomization("../../config/rbac")
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]bool{}
	for _, u := range objects {
		// The roles for people (aggregated, wavefront_*) are not the controller's.
		if u.GetName() != env.ControllerName && u.GetName() != env.ControllerName+"-leader-election" {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if u.GetKind() != "ClusterRole" && u.GetKind() != "Role" {
			continue
		}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, role)).To(Succeed())
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all[permission(verb, group, resource, "")] = true
					}
				}
			}
		}
	}
	g.Expect(all).NotTo(BeEmpty(), fmt.Sprintf("no role found among %d objects", len(objects)))
	return all
}
