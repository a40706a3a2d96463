// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

func owner(s *sourcev1.GitRepository) string { return s.Annotations[wavefrontv1.OwnerAnnotation] }

func (f *fixture) patchWavefront(name, patch string) {
	f.t.Helper()
	wf := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: name}}
	f.ok(f.env.Client().Patch(f.ctx, wf, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// delete deletes a Wavefront and waits until it is gone.
func (f *fixture) delete(name string) {
	f.t.Helper()
	wf := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: name}}
	f.ok(f.env.Client().Delete(f.ctx, wf))
	f.g.Eventually(func() bool {
		return apierrors.IsNotFound(f.env.Client().Get(f.ctx, client.ObjectKey{Name: name}, wf))
	}, patience, 100*time.Millisecond).Should(BeTrue(), "the Wavefront goes")
}

// TestLeavingTheScope: a source that is out of scope for two intervals is let go of; one
// whose label flaps is not.
func TestLeavingTheScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "leave", testfleet.Node{Name: "keep"}, testfleet.Node{Name: "float"}, testfleet.Node{Name: "flap"})
	f.enforce()
	f.quiescent()
	pin := testfleet.PinOf(f.get("keep"))
	flap := f.get("flap")

	const off, on = `{"metadata":{"labels":{"` + wavefrontv1.ManagedLabel + `":null}}}`, `{"metadata":{"labels":{"` + wavefrontv1.ManagedLabel + `":"true"}}}`
	f.patch("flap", "somebody", off)
	left := time.Now()
	f.patch("keep", "somebody", off)
	f.patch("flap", "somebody", on)
	s := f.source("keep", "the release", func(s *sourcev1.GitRepository) bool { return owner(s) == "" })
	f.g.Expect(time.Since(left)).To(BeNumerically(">=", 2*interval))
	f.g.Expect(testfleet.PinOf(s)).To(Equal(pin), "nothing moves by surprise")
	f.g.Expect(managersOf(t, s)).To(ConsistOf(wavefrontv1.FieldManager))
	f.g.Eventually(func() int { return len(f.eventsOf("PinKept", "keep")) }, time.Minute, time.Second).Should(Equal(1))

	again := f.get("flap")
	f.g.Expect(owner(again)).To(Equal(f.Namespace()))
	f.g.Expect(again.Annotations).To(Equal(flap.Annotations))

	f.patchWavefront(f.Namespace(), `{"spec":{"releasePolicy":"Float"}}`)
	f.patch("float", "somebody", off)
	f.source("float", "the release", func(s *sourcev1.GitRepository) bool {
		return testfleet.PinOf(s) == "" && owner(s) == "" && record(s) == ""
	})
	f.g.Eventually(func() int { return len(f.eventsOf("PinReleased", "float")) }, time.Minute, time.Second).Should(Equal(1))

	// Back in scope, the kept pin is taken over as it is.
	f.patch("keep", "somebody", on)
	s = f.source("keep", "the Wavefront again", func(s *sourcev1.GitRepository) bool { return owner(s) == f.Namespace() })
	f.g.Expect(testfleet.PinOf(s)).To(Equal(pin))
}

// TestDeletingAWavefront: the finalizer releases by policy, whatever the mode, and other
// owners and holds are respected.
func TestDeletingAWavefront(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		patch string
		float bool
	}{
		{name: "keep"},
		{name: "float", patch: `{"spec":{"releasePolicy":"Float"}}`, float: true},
		{name: "suspended", patch: `{"spec":{"releasePolicy":"Float","suspend":true}}`, float: true},
		{name: "shadow", patch: `{"spec":{"releasePolicy":"Float","mode":"Shadow"}}`, float: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "delete-"+tt.name, testfleet.Node{Name: "app"}, testfleet.Node{Name: "shared"},
				testfleet.Node{Name: "held"}, testfleet.Node{Name: "gone"})
			f.enforce()
			f.quiescent()
			pin := testfleet.PinOf(f.get("app"))
			f.pinBy(kubectlEdit, "held", testfleet.PinOf(f.get("app")))
			f.source("held", "the hold", held)
			shared := testfleet.PinOf(f.get("shared"))
			f.ok(f.env.Client().Apply(f.ctx, client.ApplyConfigurationFromUnstructured(commitOnly(f.Namespace(), "shared", shared)),
				client.FieldOwner("somebody")))
			f.ok(f.env.Client().Delete(f.ctx, f.object("gone")))
			if tt.patch != "" {
				f.patchWavefront(f.Namespace(), tt.patch)
			}
			f.delete(f.Namespace())

			s := f.get("app")
			f.g.Expect(owner(s)).To(BeEmpty())
			if tt.float {
				f.g.Expect(testfleet.PinOf(s)).To(BeEmpty())
				f.g.Expect(record(s)).To(BeEmpty())
			} else {
				f.g.Expect(testfleet.PinOf(s)).To(Equal(pin))
				f.g.Expect(record(s)).To(Equal(pin))
			}
			f.g.Expect(testfleet.PinOf(f.get("shared"))).To(Equal(shared), "somebody else owns it too")
			f.g.Expect(testfleet.PinOf(f.get("held"))).To(Equal(pin), "somebody holds it")
			f.g.Expect(held(f.get("held"))).To(BeTrue())
			f.g.Expect(owner(f.get("held"))).To(BeEmpty())
		})
	}
}

// TestHandOver: a source that another Wavefront has in scope is handed over as it is.
func TestHandOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "handover", testfleet.Node{Name: "app"}, testfleet.Node{Name: "held"})
	f.enforce()
	f.quiescent()
	first := testfleet.PinOf(f.get("app"))
	pin := testfleet.PinOf(f.get("held"))
	f.awaitApplied("held", f.push("held"))
	f.pinBy(kubectlEdit, "held", pin)
	f.source("held", "the hold", held)
	heir := f.Namespace() + "-heir"
	f.wavefront(wavefrontv1.ModeEnforce, func(w *wavefrontv1.Wavefront) {
		w.Name, w.Spec.ReleasePolicy = heir, wavefrontv1.ReleaseFloat
	})
	f.status(heir, "the overlap", func(s *wavefrontv1.WavefrontStatus) bool {
		return apimeta.IsStatusConditionFalse(s.Conditions, wavefrontv1.GraphValidCondition)
	})
	head := f.push("app")
	f.status(f.Namespace(), "the overlap", func(s *wavefrontv1.WavefrontStatus) bool {
		c := apimeta.FindStatusCondition(s.Conditions, wavefrontv1.GraphValidCondition)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == string(wavefrontv1.SelectorOverlapReason)
	})
	f.g.Consistently(func() string { return testfleet.PinOf(f.get("app")) }, 2*interval, time.Second).
		Should(Equal(first), "what is contested stands still")

	f.delete(f.Namespace())
	f.awaitApplied("app", head)
	f.g.Expect(owner(f.get("app"))).To(Equal(heir))
	s := f.source("held", "the heir", func(s *sourcev1.GitRepository) bool { return owner(s) == heir })
	f.g.Expect(testfleet.PinOf(s)).To(Equal(pin))
	f.g.Expect(held(s)).To(BeTrue(), "the hold goes with it")
	f.delete(heir)
}

// TestReleaseInATerminatingNamespace: the namespace is on its way out.
func TestReleaseInATerminatingNamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "terminating", testfleet.Node{Name: "app"})
	f.enforce()
	f.quiescent()
	f.ok(f.env.Client().Delete(f.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace()}}))
	f.delete(f.Namespace())
	f.g.Expect(owner(f.get("app"))).To(BeEmpty())
}

// TestReleaseAgainstTheOdds: the role is taken away, and the CRD of the source goes.
func TestReleaseAgainstTheOdds(t *testing.T) {
	t.Parallel()
	e := env.ForTest(t, env.Options{})
	if err := startController(e); err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, e, "odds", testfleet.Node{Name: "app"}, testfleet.Node{Name: "db"})
	f.enforce(func(w *wavefrontv1.Wavefront) { w.Spec.ReleasePolicy = wavefrontv1.ReleaseFloat })
	f.quiescent()

	roles := f.takeAway("gitrepositories", "patch")
	wf := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace()}}
	f.ok(e.Client().Delete(f.ctx, wf))
	f.status(f.Namespace(), "the failure in the status", func(s *wavefrontv1.WavefrontStatus) bool {
		c := apimeta.FindStatusCondition(s.Conditions, fluxmeta.ReadyCondition)
		return c != nil && c.Reason == string(wavefrontv1.ReleaseFailedReason)
	})
	f.g.Expect(testfleet.PinOf(f.get("app"))).NotTo(BeEmpty())
	for _, role := range roles {
		role.ResourceVersion = ""
		f.ok(e.Client().Patch(f.ctx, role, client.Merge))
	}
	f.source("app", "the release", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) == "" && owner(s) == "" })
	f.source("db", "the release", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) == "" && owner(s) == "" })
	f.g.Eventually(func() bool {
		return apierrors.IsNotFound(e.Client().Get(f.ctx, client.ObjectKeyFromObject(wf), wf))
	}, patience, 100*time.Millisecond).Should(BeTrue())

	f.enforce()
	f.quiescent()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "gitrepositories.source.toolkit.fluxcd.io"}}
	f.ok(e.Client().Delete(f.ctx, crd))
	f.g.Eventually(func() bool {
		return apierrors.IsNotFound(e.Client().Get(f.ctx, client.ObjectKeyFromObject(crd), crd))
	}, patience, 200*time.Millisecond).Should(BeTrue(), "the CRD and all sources go")
	f.delete(f.Namespace())
}

// takeAway removes a verb on a resource from the controller's roles, and returns the
// roles as they were.
func (f *fixture) takeAway(resource, verb string) []*rbacv1.ClusterRole {
	f.t.Helper()
	list := &rbacv1.ClusterRoleList{}
	f.ok(f.env.Client().List(f.ctx, list))
	var before []*rbacv1.ClusterRole
	for i := range list.Items {
		role := &list.Items[i]
		original, changed := role.DeepCopy(), false
		if strings.Contains(role.Name, "wfctl") {
			continue
		}
		for j, rule := range role.Rules {
			if !slices.Contains(rule.Resources, resource) || !slices.Contains(rule.Verbs, verb) || !slices.Contains(rule.APIGroups, sourcev1.GroupVersion.Group) {
				continue
			}
			changed = true
			role.Rules[j].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
		}
		if changed {
			before = append(before, original)
			role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
			f.ok(f.env.Client().Update(f.ctx, role))
		}
	}
	f.g.Expect(before).NotTo(BeEmpty())
	return before
}

// commitOnly is an apply configuration of nothing but the commit.
func commitOnly(namespace, name, commit string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind))
	u.SetNamespace(namespace)
	u.SetName(name)
	u.Object["spec"] = map[string]any{"ref": map[string]any{"commit": commit}}
	return u
}
