// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// config is a manifest with nothing in it that could take time.
func config(namespace string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n  namespace: " + namespace + "\n"
}

// member is a node as the status lists it.
func member(s *wavefrontv1.WavefrontStatus, name string) wavefrontv1.Member {
	for _, m := range s.Members {
		if m.Node.Name == name {
			return m
		}
	}
	return wavefrontv1.Member{}
}

func (f *fixture) member(name, what string, is func(wavefrontv1.Member) bool) {
	f.t.Helper()
	f.status(f.Namespace(), what, func(s *wavefrontv1.WavefrontStatus) bool { return is(member(s, name)) })
}

// TestForcePushOverThePin: what runs stays settled while the stored artifact is at the
// pin; the next observed commit heals.
func TestForcePushOverThePin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "force", testfleet.Node{Name: "app", SourceInterval: 5 * time.Second})
	first := testfleet.ArtifactOf(f.get("app"))
	f.enforce()
	lost := f.push("app")
	f.awaitApplied("app", lost)
	f.quiescent()
	repo, err := f.Repository("app")
	f.ok(err)
	f.ok(repo.Reset(f.ctx, "main", first))
	f.ok(repo.Prune(f.ctx))
	// The branch is at a commit that was seen before: it is believed on second sight.
	f.awaitApplied("app", first)
	f.g.Expect(testfleet.PinOf(f.get("app"))).To(Equal(first))
	head := f.push("app")
	f.awaitApplied("app", head)
	f.quiescent()
}

// TestBranchEdited: Git has the source follow another branch.
func TestBranchEdited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "branch", testfleet.Node{Name: "app", ByName: true})
	f.withCatalog("app")
	f.enforce()
	f.quiescent()
	old := testfleet.PinOf(f.get("app"))
	repo, err := f.Repository("app")
	f.ok(err)
	f.ok(repo.SetRef(f.ctx, "refs/heads/next", "main"))
	other, err := repo.Commit(f.ctx, "next", "next", nil)
	f.ok(err)
	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.Reference.Name = "refs/heads/next" })
	f.awaitApplied("app", other)
	s := f.get("app")
	f.g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.ObservedRefAnnotation, "refs/heads/next"))
	f.g.Expect(s.Annotations).To(HaveKeyWithValue(wavefrontv1.PreviousPinAnnotation, old))
	f.quiescent()

	f.ok(repo.DeleteBranch(f.ctx, "next"))
	f.member("app", "the lost branch", func(m wavefrontv1.Member) bool { return m.ObservationError != "" })
	f.g.Expect(testfleet.PinOf(f.get("app"))).To(Equal(other), "it stays where it is")
	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.Reference.Name = "refs/heads/main" })
	f.awaitApplied("app", old)
	f.quiescent()
}

// TestURLEdited: Git has the source follow another repository. Its old pin is not in
// there; it moves to what is.
func TestURLEdited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "url", testfleet.Node{Name: "app"}, testfleet.Node{Name: "new"})
	f.withCatalog("app")
	f.enforce()
	f.quiescent()
	repo, err := f.Repository("new")
	f.ok(err)
	moved, err := f.Push(f.ctx, "new", testfleet.Release{})
	f.ok(err)
	commit, err := repo.Commit(f.ctx, "main", "app moves in", env.Files{"app/config.yaml": config(f.Namespace())})
	f.ok(err)
	f.g.Expect(commit).NotTo(Equal(moved))
	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.URL = repo.URL() })
	f.awaitApplied("app", commit)
	f.g.Expect(f.get("app").Annotations).To(HaveKeyWithValue(wavefrontv1.ObservedURLAnnotation, repo.URL()))
	f.quiescent()
}

// TestSourceRecreated: a namesake is another object, and starts anew.
func TestSourceRecreated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "again", testfleet.Node{Name: "app"})
	f.enforce()
	f.quiescent()
	s := f.get("app")
	head := f.push("app")
	f.awaitApplied("app", head)
	s.ResourceVersion, s.UID, s.ManagedFields, s.Annotations = "", "", nil, nil
	s.Finalizers = nil
	s.Status = sourcev1.GitRepositoryStatus{}
	s.Spec.Reference.Commit = ""
	f.ok(f.env.Client().Delete(f.ctx, f.object("app")))
	f.g.Eventually(func() error {
		err := f.env.Client().Create(f.ctx, s.DeepCopy())
		if apierrors.IsAlreadyExists(err) {
			return err
		}
		f.ok(err)
		return nil
	}, time.Minute, 200*time.Millisecond).Should(Succeed())
	again := f.source("app", "the initial pin", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) == head })
	f.g.Expect(again.Annotations).NotTo(HaveKey(wavefrontv1.PreviousPinAnnotation))
	f.quiescent()
}

// TestNodeMovesToAnotherSource: the source that nobody uses any more is let go of, and
// the node follows the pin of its new one.
func TestNodeMovesToAnotherSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "move", testfleet.Node{Name: "app"}, testfleet.Node{Name: "mono"})
	f.enforce()
	f.quiescent()
	repo, err := f.Repository("mono")
	f.ok(err)
	commit, err := repo.Commit(f.ctx, "main", "app moves in", env.Files{"app/config.yaml": config(f.Namespace())})
	f.ok(err)
	f.awaitApplied("mono", commit)
	k := &kustomizev1.Kustomization{}
	f.ok(f.env.Client().Get(f.ctx, client.ObjectKey{Namespace: f.Namespace(), Name: "app"}, k))
	k.Spec.SourceRef.Name = "mono"
	f.ok(f.env.Client().Update(f.ctx, k))
	f.awaitApplied("app", commit)
	f.source("app", "the release", func(s *sourcev1.GitRepository) bool { return owner(s) == "" && testfleet.PinOf(s) != "" })
	f.quiescent()
}

// TestSecretEdited: credentials are demanded, given, spoilt and put right. Nothing that
// runs changes; updates wait for as long as the source can't be listed.
func TestSecretEdited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "secret", testfleet.Node{Name: "app"})
	f.enforce()
	f.quiescent()
	pin := testfleet.PinOf(f.get("app"))
	repo, err := f.Repository("app")
	f.ok(err)
	repo.RequireBasicAuth("git", "right")
	head := f.push("app")
	f.member("app", "the error", func(m wavefrontv1.Member) bool { return m.ObservationError != "" })
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace(), Name: "git"},
		StringData: map[string]string{"username": "git", "password": "right"},
	}
	f.ok(f.env.Client().Create(f.ctx, secret.DeepCopy()))
	f.g.Expect(testfleet.PinOf(f.get("app"))).To(Equal(pin))
	f.patch("app", "somebody", `{"spec":{"secretRef":{"name":"git"}}}`)
	f.awaitApplied("app", head)

	for _, password := range []string{"wrong", "right"} {
		edited := secret.DeepCopy()
		edited.StringData["password"] = password
		f.ok(f.env.Client().Update(f.ctx, edited))
		f.member("app", "the error to come and go", func(m wavefrontv1.Member) bool {
			return (m.ObservationError != "") == (password == "wrong")
		})
	}
	f.awaitApplied("app", f.push("app"))
	f.quiescent()
}

// TestDependencyEdited: who no longer depends on what is on its way goes on at once.
func TestDependencyEdited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "edges", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	f.quiescent()
	f.Hold("db")
	f.source("db", "the admission", func(up string) func(*sourcev1.GitRepository) bool {
		return func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) == up }
	}(f.push("db")))
	head := f.push("app")
	f.member("app", "the wait", func(m wavefrontv1.Member) bool {
		return m.ObservedSHA == head && m.Blocked != nil && m.Blocked.Reason == "AncestorPending"
	})
	app := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace(), Name: "app"}}
	f.ok(f.env.Client().Patch(f.ctx, app, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"dependsOn":null}}`))))
	f.awaitApplied("app", head)
	f.Release("db")
	f.quiescent()
}
