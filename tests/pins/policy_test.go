// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

const (
	policyParameters = "wavefront-policy"
	// catalogUser is whom kustomize-controller acts as in these tests.
	catalogUser = "kustomize-controller"
)

// warnings collects what the API server warns of.
type warnings struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

// withPolicies is a control plane with the optional policies, Flux among the appliers,
// and the controller running.
func withPolicies(t *testing.T) (*fixture, *env.Env) {
	t.Helper()
	e := env.ForTest(t, env.Options{Audit: true})
	if err := startController(e); err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, e, "policy", testfleet.Node{Name: "app"})
	f.withCatalog("app")
	f.enforce()
	f.quiescent()

	objects, err := env.BuildKustomization(filepath.Join("..", "..", "config", "policy"))
	f.ok(err)
	f.ok(e.Apply(f.ctx, objects...))
	f.parameter("appliers", "system:serviceaccount:flux-system:kustomize-controller\n"+catalogUser)
	// A policy is in force a moment after it was made.
	f.g.Eventually(func() error {
		return e.Client().Patch(f.ctx, f.object("app"), client.RawPatch(types.MergePatchType, []byte(removal)), client.DryRunAll)
	}, time.Minute, 200*time.Millisecond).Should(MatchError(ContainSubstring("recorded pin")))
	return f, e
}

const removal = `{"spec":{"ref":{"commit":null}}}`

// parameter sets a parameter of the policies.
func (f *fixture) parameter(key, value string) {
	f.t.Helper()
	cm := &corev1.ConfigMap{}
	f.ok(f.env.Client().Get(f.ctx, client.ObjectKey{Namespace: env.RuntimeNamespace, Name: policyParameters}, cm))
	cm.Data[key] = value
	f.ok(f.env.Client().Update(f.ctx, cm))
}

func (f *fixture) object(name string) *sourcev1.GitRepository {
	return &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace(), Name: name}}
}

// as is a client that acts as a user, and what it is warned of.
func (f *fixture) as(user string) (client.Client, *warnings) {
	f.t.Helper()
	heard := &warnings{}
	config := f.env.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	config.WarningHandler = heard
	c, err := client.New(config, client.Options{Scheme: f.env.Scheme()})
	f.ok(err)
	return c, heard
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	f, e := withPolicies(t)
	controllerUser := env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName)

	tests := []struct {
		name, user, manager, patch string
		refused                    string
	}{
		{name: "kubectl removes a recorded pin", user: "alice", manager: "kubectl-patch", patch: removal, refused: "recorded pin"},
		{name: "and the record with it", user: "alice", manager: "kubectl-patch",
			patch:   `{"metadata":{"annotations":{"` + wavefrontv1.PinnedCommitAnnotation + `":null}},"spec":{"ref":{"commit":null}}}`,
			refused: "recorded pin"},
		{name: "and the label with it", user: "alice", manager: "kubectl-patch",
			patch:   `{"metadata":{"labels":{"` + wavefrontv1.ManagedLabel + `":null}},"spec":{"ref":null}}`,
			refused: "recorded pin"},
		{name: "under no manager's name", user: "alice", patch: removal, refused: "recorded pin"},
		{name: "wfctl may", user: "alice", manager: wavefrontv1.CLIFieldManager, patch: removal},
		{name: "the controller may", user: controllerUser, manager: wavefrontv1.FieldManager, patch: removal},
		{name: "an applier of Git may", user: catalogUser, manager: flux, patch: removal},
		{name: "whoever breaks the glass may", user: "alice", manager: "kubectl-patch",
			patch: `{"metadata":{"annotations":{"wavefront.as-code.io/break-glass":"incident 7"}},"spec":{"ref":{"commit":null}}}`},
		{name: "but not without a reason", user: "alice", manager: "kubectl-patch",
			patch:   `{"metadata":{"annotations":{"wavefront.as-code.io/break-glass":" "}},"spec":{"ref":{"commit":null}}}`,
			refused: "recorded pin"},
		{name: "a hand-pin is no removal", user: "alice", manager: "kubectl-patch",
			patch: `{"spec":{"ref":{"commit":"` + "0123456789012345678901234567890123456789" + `"}}}`},
		{name: "everything else is nobody's business", user: "alice", manager: "kubectl-patch",
			patch: `{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}},"spec":{"interval":"7m","suspend":true,"ref":{"branch":"next"}}}`},

		{name: "the controller moves a pin", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"metadata":{"annotations":{"` + wavefrontv1.AdmittedAtAnnotation + `":"x","` + wavefrontv1.HeldByAnnotation + `":"y"}},"spec":{"ref":{"commit":"0123456789012345678901234567890123456789"}}}`},
		{name: "the controller, the URL", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"spec":{"url":"https://example.com"}}`, refused: "no field of a GitRepository's spec but ref.commit"},
		{name: "the controller, a field that was not set", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"spec":{"suspend":true}}`, refused: "no field of a GitRepository's spec but ref.commit"},
		{name: "the controller, a field that was set", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"spec":{"timeout":null,"interval":"1h"}}`, refused: "no field of a GitRepository's spec but ref.commit"},
		{name: "the controller, the branch", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"spec":{"ref":{"branch":"next"}}}`, refused: "no field of a GitRepository's spec but ref.commit"},
		{name: "the controller, another reference", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"spec":{"ref":{"name":"refs/heads/next"}}}`, refused: "no field of a GitRepository's spec but ref.commit"},
		{name: "the controller, a label", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"metadata":{"labels":{"` + wavefrontv1.ManagedLabel + `":null}}}`, refused: "labels, finalizers or owners"},
		{name: "the controller, a finalizer", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"metadata":{"finalizers":[]}}`, refused: "labels, finalizers or owners"},
		{name: "the controller, somebody's annotation", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now"}}}`, refused: "no annotation of a GitRepository but its own"},
		{name: "the controller, breaking the glass", user: controllerUser, manager: wavefrontv1.FieldManager,
			patch: `{"metadata":{"annotations":{"wavefront.as-code.io/break-glass":"x"}}}`, refused: "no annotation of a GitRepository but its own"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			c, _ := f.as(tt.user)
			options := []client.PatchOption{client.DryRunAll}
			if tt.manager != "" {
				options = append(options, client.FieldOwner(tt.manager))
			}
			err := c.Patch(f.ctx, f.object("app"), client.RawPatch(types.MergePatchType, []byte(tt.patch)), options...)
			if tt.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tt.refused)))
			g.Expect(apierrors.IsForbidden(err) || apierrors.IsInvalid(err)).To(BeTrue())
		})
	}
	t.Run("the controller deletes nothing", func(t *testing.T) {
		c, _ := f.as(controllerUser)
		NewWithT(t).Expect(c.Delete(f.ctx, f.object("app"), client.DryRunAll)).To(MatchError(ContainSubstring("may only update")))
	})
	t.Run("nobody is named", func(t *testing.T) { f.checkUnnamed(t, controllerUser) })
	t.Run("what a catalog sets", func(t *testing.T) { f.checkCatalogRefs(t) })
	t.Run("the whole life of a pin passes", func(t *testing.T) { f.checkLife(t, e) })
}

// checkUnnamed shows that parameters without the controller's account confine nobody,
// instead of refusing what everybody writes.
func (f *fixture) checkUnnamed(t *testing.T, controllerUser string) {
	g := NewWithT(t)
	c, _ := f.as(controllerUser)
	changeURL := func() error {
		return c.Patch(f.ctx, f.object("app"), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"url":"https://example.com"}}`)), client.DryRunAll)
	}
	cm := &corev1.ConfigMap{}
	g.Expect(f.env.Client().Get(f.ctx, client.ObjectKey{Namespace: env.RuntimeNamespace, Name: policyParameters}, cm)).To(Succeed())
	delete(cm.Data, "controller")
	g.Expect(f.env.Client().Update(f.ctx, cm)).To(Succeed())
	g.Eventually(changeURL, 30*time.Second, 200*time.Millisecond).Should(Succeed())
	f.parameter("controller", controllerUser)
	g.Eventually(changeURL, 30*time.Second, 200*time.Millisecond).Should(MatchError(ContainSubstring("ref.commit")))
}

// checkCatalogRefs shows that a catalog that sets semver or commit is warned or refused.
func (f *fixture) checkCatalogRefs(t *testing.T) {
	const semver, commit = `{"spec":{"ref":{"semver":"1.x"}}}`, `{"spec":{"ref":{"commit":"0123456789012345678901234567890123456789"}}}`
	tests := []struct {
		name, parameter, user, patch string
		warned, refused              bool
	}{
		{name: "semver, warned", parameter: "Warn", user: catalogUser, patch: semver, warned: true},
		{name: "commit, warned", parameter: "Warn", user: catalogUser, patch: commit, warned: true},
		{name: "semver, refused", parameter: "Deny", user: catalogUser, patch: semver, refused: true},
		{name: "commit, refused", parameter: "Deny", user: catalogUser, patch: commit, refused: true},
		{name: "somebody else", parameter: "Deny", user: "alice", patch: semver},
		{name: "a pin that is there", parameter: "Deny", user: catalogUser, patch: `{"spec":{"interval":"7m"}}`},
		{name: "allowed", parameter: "Allow", user: catalogUser, patch: semver},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			f.parameter("catalogRefs", tt.parameter)
			c, heard := f.as(tt.user)
			try := func() (bool, bool) {
				heard.texts = nil
				err := c.Patch(f.ctx, f.object("app"), client.RawPatch(types.MergePatchType, []byte(tt.patch)),
					client.DryRunAll, client.FieldOwner("x"))
				return len(heard.texts) > 0, err != nil
			}
			// The parameter is in force a moment after it was set.
			g.Eventually(func() [2]bool {
				warned, refused := try()
				return [2]bool{warned, refused}
			}, 30*time.Second, 200*time.Millisecond).Should(Equal([2]bool{tt.warned, tt.refused}))
		})
	}
}

// checkLife shows that nothing the controller and Flux do about a pin is refused: an
// admission, a hold and its end, a declared commit and its end, and the release.
func (f *fixture) checkLife(t *testing.T, e *env.Env) {
	f.t, f.g = t, NewWithT(t)
	var cancel context.CancelFunc
	f.ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	f.parameter("catalogRefs", "Warn")
	first := testfleet.PinOf(f.get("app"))
	second := f.push("app")
	f.awaitApplied("app", second)
	f.pinBy(kubectlEdit, "app", first)
	f.reapply()
	f.source("app", "the hold", held)

	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.Reference.Commit = second })
	f.status(f.Namespace(), "Declared", func(s *wavefrontv1.WavefrontStatus) bool {
		return len(s.Held) == 1 && s.Held[0].Reason == "Declared"
	})
	third := f.push("app")
	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.Reference.Commit = "" })
	f.awaitApplied("app", third)

	wf := f.Wavefront(wavefrontv1.ModeEnforce)
	f.ok(e.Client().Patch(f.ctx, wf, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"releasePolicy":"Float"}}`))))
	f.ok(e.Client().Delete(f.ctx, wf))
	f.source("app", "the release", func(s *sourcev1.GitRepository) bool {
		return testfleet.PinOf(s) == "" && record(s) == ""
	})
}
