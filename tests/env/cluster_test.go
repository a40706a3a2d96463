// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
)

func TestCRDsAreServed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)
	var crds apiextensionsv1.CustomResourceDefinitionList
	g.Expect(e.Client().List(t.Context(), &crds)).To(Succeed())
	var kinds []string
	for _, crd := range crds.Items {
		kinds = append(kinds, crd.Spec.Names.Kind)
	}
	g.Expect(kinds).To(ContainElements(
		"GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket", "ExternalArtifact", "Kustomization",
		"HelmRelease", "ImageRepository", "ImagePolicy", "Alert", "Provider", "Receiver", "Wavefront", "FluxApp"))
}

// TestServiceAccountMayDoWhatItsRolesSay also shows what the audit log tells.
func TestServiceAccountMayDoWhatItsRolesSay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	e := env.Shared(t)
	namespace := e.Namespace(t, "access")
	mark, err := e.AuditLog().Mark()
	g.Expect(err).NotTo(HaveOccurred())

	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	g.Expect(e.Client().Create(ctx, role)).To(Succeed())
	g.Expect(e.Client().Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "reader"}},
	})).To(Succeed())

	path, err := e.KubeconfigFor(ctx, namespace, "reader")
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", path)
	g.Expect(err).NotTo(HaveOccurred())
	reader, err := client.New(config, client.Options{Scheme: e.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error { // the authorizer reads roles from a cache
		return reader.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace))
	}).Should(Succeed())
	err = reader.List(ctx, &corev1.SecretList{}, client.InNamespace(namespace))
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)

	events, err := e.AuditLog().Since(mark)
	g.Expect(err).NotTo(HaveOccurred())
	user := env.ServiceAccountUser(namespace, "reader")
	var forbidden, written []string
	for _, event := range events {
		if event.User.Username == user && event.IsForbidden() && event.ObjectRef.Resource == "secrets" {
			forbidden = append(forbidden, event.Verb)
		}
		if event.IsWrite() && event.ObjectRef.Namespace == namespace {
			written = append(written, event.ObjectRef.Resource)
		}
	}
	g.Expect(forbidden).To(Equal([]string{"list"}))
	g.Expect(written).To(ContainElements("roles", "rolebindings", "serviceaccounts"))
}

func TestAuditLogHasBodiesOfGitRepositories(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)
	namespace := e.Namespace(t, "audit")
	g.Expect(e.Client().Create(t.Context(), &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"},
		Spec:       sourcev1.GitRepositorySpec{URL: "http://127.0.0.1:1/app.git", Interval: metav1.Duration{Duration: time.Hour}},
	})).To(Succeed())
	events, err := e.AuditLog().Events()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(events).To(ContainElement(And(
		HaveField("Verb", "create"),
		HaveField("ObjectRef.Namespace", namespace),
		HaveField("ObjectRef.Resource", "gitrepositories"),
		HaveField("RequestObject", ContainSubstring("http://127.0.0.1:1/app.git")),
	)))
}

// TestProgramsRestart has a control plane of its own, beside the shared one, and works
// on from another process's view of it.
func TestProgramsRestart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	e := env.ForTest(t, env.Options{Namespaces: []string{"more"}, Dir: filepath.Join(t.TempDir(), "data")})
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "more", Name: "marker"}}
	g.Expect(e.Client().Create(ctx, marker)).To(Succeed())

	g.Expect(e.SourceController().Kill()).To(Succeed())
	g.Expect(e.SourceController().Running()).To(BeFalse())
	g.Expect(e.SourceController().Start(ctx)).To(Succeed())
	g.Expect(e.APIServer().Kill()).To(Succeed())
	g.Expect(e.Client().Get(ctx, client.ObjectKeyFromObject(marker), marker)).NotTo(Succeed())
	g.Expect(e.APIServer().Start(ctx)).To(Succeed())
	g.Expect(e.Client().Get(ctx, client.ObjectKeyFromObject(marker), marker)).To(Succeed())

	attached, err := env.Attach(e.Dir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attached.Client().Get(ctx, client.ObjectKeyFromObject(marker), marker)).To(Succeed())
	repo, err := attached.Git().Create(ctx, "app")
	g.Expect(err).NotTo(HaveOccurred())
	commit, err := repo.Commit(ctx, "main", "first", env.Files{"a": "a"})
	g.Expect(err).NotTo(HaveOccurred())
	out, err := git(ctx, "", "ls-remote", repo.URL())
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(ContainSubstring(commit))
	g.Expect(attached.Stop()).To(Succeed())
	g.Expect(e.KustomizeController().Running()).To(BeTrue())
}

// TestAssetsAreUsed is for machines that have etcd and kube-apiserver from elsewhere.
func TestAssetsAreUsed(t *testing.T) {
	g := NewWithT(t)
	shared := env.Shared(t)
	assets := t.TempDir()
	for name, process := range map[string]*env.Process{"etcd": shared.Etcd(), "kube-apiserver": shared.APIServer()} {
		program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(process.PID()), "exe"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.Symlink(program, filepath.Join(assets, name))).To(Succeed())
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	e := env.ForTest(t, env.Options{NoFlux: true})
	program, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(e.APIServer().PID()), "cmdline"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(program)).To(HavePrefix(filepath.Join(assets, "kube-apiserver")))
	g.Expect(e.SourceController()).To(BeNil())
}
