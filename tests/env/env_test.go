// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"os"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
)

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		beVictim()
	}
	os.Exit(env.Main(m, env.Options{Audit: true}))
}

// TestCommitReachesCluster is the whole path: git, source-controller,
// kustomize-controller, API server.
func TestCommitReachesCluster(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	e := env.Shared(t)
	namespace := e.Namespace(t, "path")

	repo, err := e.Git().Create(ctx, namespace+"/app")
	g.Expect(err).NotTo(HaveOccurred())
	commit, err := repo.Commit(ctx, "main", "first", env.Files{"cm.yaml": configMap("one")})
	g.Expect(err).NotTo(HaveOccurred())

	source := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"},
		Spec: sourcev1.GitRepositorySpec{
			URL:       repo.URL(),
			Interval:  metav1.Duration{Duration: time.Minute},
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
	}
	g.Expect(e.Client().Create(ctx, source)).To(Succeed())
	node := &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"},
		Spec: kustomizev1.KustomizationSpec{
			SourceRef:       kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "app"},
			Interval:        metav1.Duration{Duration: time.Minute},
			TargetNamespace: namespace,
			Prune:           true,
		},
	}
	g.Expect(e.Client().Create(ctx, node)).To(Succeed())

	g.Eventually(func(g Gomega) {
		g.Expect(e.Client().Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		g.Expect(apimeta.IsStatusConditionTrue(node.Status.Conditions, fluxmeta.ReadyCondition)).To(BeTrue())
		// Written after the condition, by a patch of its own.
		g.Expect(node.Status.LastAppliedRevision).To(Equal("main@sha1:" + commit))
	}, 30*time.Second, 100*time.Millisecond).Should(Succeed())

	var applied corev1.ConfigMap
	g.Expect(e.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &applied)).To(Succeed())
	g.Expect(applied.Data).To(HaveKeyWithValue("value", "one"))
}

func configMap(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {value: " + value + "}\n"
}
