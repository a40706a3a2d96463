// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// kustomization adds a node as it stands in the cluster: applied, and healthy
// unless a reason says otherwise.
func (f *fixture) kustomization(path, reason string, dependsOn ...string) {
	n := node(path)
	k := &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name, Generation: 1, Labels: map[string]string{wavefrontv1.ManagedLabel: "true"}},
		Spec: kustomizev1.KustomizationSpec{
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: n.Name + "-repo"}, Wait: true,
		},
		Status: kustomizev1.KustomizationStatus{
			ObservedGeneration: 1, LastAppliedRevision: "main@sha1:" + commit("a"), LastAttemptedRevision: "main@sha1:" + commit("a"),
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "ReconciliationSucceeded", ObservedGeneration: 1, LastTransitionTime: ago(0)}},
		},
	}
	for _, d := range dependsOn {
		k.Spec.DependsOn = append(k.Spec.DependsOn, fluxmeta.DependencyReference{Name: d})
	}
	if reason != "" {
		c := &k.Status.Conditions[0]
		c.Status, c.Reason, c.Message = "False", reason, "timeout waiting for Deployment/"+n.Name
	}
	f.objects = append(f.objects, k)
}

// derivable is a fleet whose status and objects agree: db is settled, app has a
// commit that waits because cache failed.
func derivable() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseBlocked).
		node("flotillas/db", "Settled", 0).
		node("flotillas/cache", "Unhealthy", 0, trouble("HealthCheckFailed: timeout waiting for Deployment/cache")).
		node("flotillas/app", "Pending", 1, after("flotillas/cache", "flotillas/db"), waits("b"), blocked("AncestorUnhealthy", "flotillas/cache"))
	f.kustomization("flotillas/db", "")
	f.kustomization("flotillas/cache", "HealthCheckFailed")
	f.kustomization("flotillas/app", "", "db", "cache")
	for _, s := range []string{"db", "cache", "app"} {
		f.source("flotillas/"+s+"-repo", "wavefront-controller")
	}
	return f
}

// doubted is the same fleet after the controller has died: its status is old.
func doubted() *fixture {
	f := derivable()
	s := &f.wavefront.Status
	s.Phase, s.Members[1].State, s.Members[1].Trouble, s.Nodes.Unhealthy = wavefrontv1.PhaseQuiescent, wavefrontv1.StateSettled, "", 0
	s.Members = s.Members[:2]
	s.Nodes.Observed, s.Nodes.Pinned = 2, 2
	return f
}

func TestDerived(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func() *fixture{"agrees": derivable, "doubted": doubted} {
		for command, args := range map[string][]string{
			"status": {"status", "--derive"}, "nodes": {"nodes", "--derive", "-o", "wide"}, "explain": {"explain", "--derive", "flotillas/app"},
			"sources": {"sources", "--derive"}, "status.json": {"status", "--derive", "-o", "json"},
		} {
			t.Run(name+"/"+command, func(t *testing.T) {
				t.Parallel()
				r := wfctl(t, fakeClient(build()), args...)
				compareGolden(t, filepath.Join("derived", name, command), r.golden(""))
			})
		}
	}
}

// TestDeriveForbidden: who may not read the fleet is told which role to ask for.
func TestDeriveForbidden(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := interceptor.NewClient(fakeClient(derivable()), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*sourcev1.GitRepositoryList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Group: "source.toolkit.fluxcd.io", Resource: "gitrepositories"}, "", nil)
			}
			return c.List(ctx, list, opts...)
		},
	})
	r := wfctl(t, c, "status", "--derive")
	g.Expect(r.code).To(Equal(ExitError))
	g.Expect(r.stderr).To(ContainSubstring("wavefront-wfctl-derive"))
	r = wfctl(t, c, "sources")
	g.Expect(r.code).To(Equal(ExitSuccess))
	g.Expect(r.stderr).To(ContainSubstring("GitRepositories could not be read"))
}
