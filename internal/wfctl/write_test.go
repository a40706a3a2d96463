// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	authenticationv1 "k8s.io/api/authentication/v1"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// writable is a client that knows who calls, and lets change answer first.
func writable(f *fixture, funcs ...interceptor.Funcs) client.WithWatch {
	builder := fake.NewClientBuilder().WithScheme(NewScheme()).WithReturnManagedFields().
		WithObjects(f.wavefront).WithObjects(f.objects...)
	all := interceptor.Funcs{}
	if len(funcs) > 0 {
		all = funcs[0]
	}
	all.Create = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		if review, ok := obj.(*authenticationv1.SelfSubjectReview); ok {
			review.Status.UserInfo.Username = "jane@example.com"
			return nil
		}
		return c.Create(ctx, obj, opts...)
	}
	return builder.WithInterceptorFuncs(all).Build()
}

// writePlans are plans that are printed and not carried out.
var writePlans = map[string]struct {
	fixture func() *fixture
	args    []string
}{
	"suspend":             {quiescent, []string{"suspend"}},
	"suspend-already":     {suspended, []string{"suspend"}},
	"suspend-gitops":      {gitops, []string{"suspend"}},
	"resume":              {suspended, []string{"resume"}},
	"mode-enforce":        {shadow, []string{"mode", "Enforce"}},
	"mode-shadow":         {quiescent, []string{"mode", "shadow"}},
	"mode-wrong":          {quiescent, []string{"mode", "Fast"}},
	"reconcile":           {quiescent, []string{"reconcile"}},
	"pin-known":           {quiescent, []string{"pin", "flotillas/app-repo", "--sha", commit("9")}},
	"pin-unverified":      {quiescent, []string{"pin", "flotillas/app-repo", "--sha", commit("b"), "--unverified"}},
	"pin-unproved":        {quiescent, []string{"pin", "flotillas/app-repo", "--sha", commit("b")}},
	"pin-short":           {quiescent, []string{"pin", "flotillas/app-repo", "--sha", "abc123"}},
	"pin-held":            {heldFleet, []string{"pin", "flotillas/app-repo", "--sha", commit("9")}},
	"pin-forced":          {heldFleet, []string{"pin", "flotillas/app-repo", "--sha", commit("9"), "--force"}},
	"pin-declared":        {heldFleet, []string{"pin", "flotillas/legacy-repo", "--sha", commit("9"), "--force"}},
	"pin-node":            {quiescent, []string{"pin", "flotillas/app", "--sha", commit("9")}},
	"release":             {heldFleet, []string{"release", "flotillas/app-repo"}},
	"release-float":       {heldFleet, []string{"release", "flotillas/app-repo", "--float"}},
	"release-not-held":    {heldFleet, []string{"release", "flotillas/web-repo"}},
	"release-declared":    {heldFleet, []string{"release", "flotillas/legacy-repo"}},
	"adopt-none":          {heldFleet, []string{"adopt", "--all"}},
	"adopt-restored":      {restored, []string{"adopt", "--all"}},
	"adopt-manager":       {heldFleet, []string{"adopt", "--all", "--manager", "kubectl-edit"}},
	"adopt-nothing-named": {heldFleet, []string{"adopt"}},
	"pin-strip":           {heldFleet, []string{"pin-strip", "--suspend"}},
	"pin-strip-held":      {heldFleet, []string{"pin-strip", "--include-held"}},
	"force-unverified":    {blockedFleet, []string{"force-admit", "flotillas/app-repo", "--sha", commit("b"), "--unverified"}},
	"force-held":          {heldFleet, []string{"force-admit", "flotillas/app-repo"}},
	"force-suspended":     {suspended, []string{"force-admit", "flotillas/app-repo"}},
	"force-shadow":        {shadow, []string{"force-admit", "flotillas/app-repo"}},
	"force-declared":      {heldFleet, []string{"force-admit", "flotillas/legacy-repo"}},
	"mode-enforce-anew":   {floating, []string{"mode", "Enforce"}},
	"force-paused":        {heldFleet, []string{"force-admit", "flotillas/paused-repo"}},
	"uninstall":           {heldFleet, []string{"uninstall"}},
}

// gitops is a Wavefront whose spec.suspend stands in Git.
func gitops() *fixture {
	f := quiescent()
	f.wavefront.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kustomize-controller", Operation: metav1.ManagedFieldsOperationApply, APIVersion: wavefrontv1.GroupVersion.String(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`),
	}}
	return f
}

// floating is a fleet in Shadow whose would-be pins are what the sources are at: the status
// shows them as it would show pins.
func floating() *fixture {
	f := shadow()
	f.wavefront.Status.Shadow = nil
	return f
}

// restored is a fleet after a backup tool wrote every object.
func restored() *fixture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseAdvancing).
		node("flotillas/app", "Settled", 0).node("flotillas/web", "Settled", 0)
	f.source("flotillas/app-repo", "velero-server")
	f.source("flotillas/web-repo", "velero-server").Spec.Reference.Commit = commit("b")
	return f
}

func TestPlans(t *testing.T) {
	t.Parallel()
	for name, tt := range writePlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := writable(tt.fixture())
			r := wfctl(t, c, append(tt.args, "--dry-run")...)
			compareGolden(t, filepath.Join("plans", name), r.golden(""))
			// A dry run writes nothing.
			g := NewWithT(t)
			before := writable(tt.fixture())
			g.Expect(contents(t, c)).To(Equal(contents(t, before)))
		})
	}
}

// contents are all objects that a write may touch.
func contents(t *testing.T, c client.Client) []any {
	t.Helper()
	g := NewWithT(t)
	var wavefronts wavefrontv1.WavefrontList
	var sources sourcev1.GitRepositoryList
	g.Expect(c.List(t.Context(), &wavefronts)).To(Succeed())
	g.Expect(c.List(t.Context(), &sources)).To(Succeed())
	return []any{wavefronts.Items, sources.Items}
}

func sourceOf(t *testing.T, c client.Client, path string) *sourcev1.GitRepository {
	t.Helper()
	ref, err := parseName(path, "GitRepository")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	o := &sourcev1.GitRepository{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, o)).To(Succeed())
	return o
}

func TestConfirmation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		input       string
		args        []string
		interactive bool
		code        int
		suspended   bool
		says        string
	}{
		{"yes", "y\n", nil, true, ExitSuccess, true, "suspended"},
		{"no", "n\n", nil, true, ExitError, false, "not confirmed"},
		{"end of input", "", nil, true, ExitError, false, "not confirmed"},
		{"nobody there", "y\n", nil, false, ExitError, false, "--yes carries the plan out"},
		{"--yes", "", []string{"--yes"}, false, ExitSuccess, true, "suspended"},
		{"--dry-run", "", []string{"--dry-run"}, true, ExitSuccess, false, "nothing was written"},
		{"--yes and --dry-run", "", []string{"--yes", "--dry-run"}, true, ExitError, false, "none of the others can be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := writable(quiescent())
			r := wfctlWith(t, c, tt.input, append([]string{"suspend"}, tt.args...), WithInteractive(tt.interactive))
			g.Expect(r.code).To(Equal(tt.code), r.stderr)
			g.Expect(r.stderr).To(ContainSubstring(tt.says))
			obj := &wavefrontv1.Wavefront{}
			g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "fleet"}, obj)).To(Succeed())
			g.Expect(obj.Spec.Suspend).To(Equal(tt.suspended))
		})
	}
}

func TestAuditEvent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := writable(quiescent())
	r := wfctl(t, c, "suspend", "--yes", "--reason", "incident \x1b[31m4711 https://u:s3cr3t@host/x")
	g.Expect(r.code).To(Equal(ExitSuccess), r.stderr)

	shown := wfctl(t, c, "history", "--reason", reasonSuspended, "-o", "json")
	g.Expect(shown.stdout).To(And(
		ContainSubstring("jane@example.com"), ContainSubstring("jane@workstation"), ContainSubstring(`incident \\x1b[31m4711`),
		ContainSubstring(`"reporter": "wfctl"`), Not(ContainSubstring("s3cr3t"))))
}

func TestAuditFailureIsAWarning(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := quiescent()
	c := fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(f.wavefront).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil)
		},
	}).Build()
	r := wfctl(t, c, "suspend", "--yes")
	g.Expect(r.code).To(Equal(ExitSuccess))
	g.Expect(r.stderr).To(ContainSubstring("no audit event was recorded"))
}

func TestForcedAdmission(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := writable(blockedFleet())
	r := wfctl(t, c, "force-admit", "flotillas/app-repo", "--sha", commit("b"), "--unverified", "--yes", "--reason", "fix")
	g.Expect(r.code).To(Equal(ExitSuccess), r.stderr)
	o := sourceOf(t, c, "flotillas/app-repo")
	g.Expect(o.Spec.Reference.Commit).To(Equal(commit("b")))
	g.Expect(o.Annotations).To(And(
		HaveKeyWithValue(wavefrontv1.PreviousPinAnnotation, commit("a")),
		HaveKeyWithValue(wavefrontv1.PinnedCommitAnnotation, commit("b")),
		HaveKeyWithValue(wavefrontv1.ForcedByAnnotation, "jane@workstation at 2026-03-14T03:07:00Z: fix"),
		HaveKeyWithValue(wavefrontv1.AdmittedAtAnnotation, "2026-03-14T03:07:00Z"),
	))
}

// TestForcedAdmissionHonoursALateSuspension: a node that is suspended while the
// plan is looked at stops the write.
func TestForcedAdmissionHonoursALateSuspension(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := blockedFleet()
	f.objects = append(f.objects, &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "flotillas", Name: "app"}})
	reads := 0
	c := writable(f, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if k, ok := obj.(*kustomizev1.Kustomization); ok {
				reads++
				k.Spec.Suspend = reads > 1
			}
			return err
		},
	})
	r := wfctl(t, c, "force-admit", "flotillas/app-repo", "--sha", commit("b"), "--unverified", "--yes")
	g.Expect(r.code).To(Equal(ExitError))
	g.Expect(r.stderr).To(ContainSubstring("is suspended"))
	g.Expect(sourceOf(t, c, "flotillas/app-repo").Spec.Reference.Commit).To(Equal(commit("a")))
}

// TestChangedInBetween: what changes between plan and write is reported, never
// overwritten. What the plan does not speak of may change: source-controller
// writes the status all the time.
func TestChangedInBetween(t *testing.T) {
	t.Parallel()
	commands := map[string][]string{
		"pin":           {"pin", "flotillas/app-repo", "--sha", commit("9"), "--force"},
		"release":       {"release", "flotillas/app-repo"},
		"release float": {"release", "flotillas/app-repo", "--float"},
	}
	changes := map[string]struct {
		change  func(*sourcev1.GitRepository)
		refused bool
	}{
		"hold":  {func(o *sourcev1.GitRepository) { o.Annotations[wavefrontv1.HeldByAnnotation] = "joe since yesterday" }, true},
		"spec":  {func(o *sourcev1.GitRepository) { o.Spec.Suspend = !o.Spec.Suspend; o.Generation++ }, true},
		"owner": {func(o *sourcev1.GitRepository) { o.ManagedFields = o.ManagedFields[:1] }, true},
		"label": {func(o *sourcev1.GitRepository) { o.Labels["touched"] = "by-somebody" }, false},
	}
	for name, args := range commands {
		for what, tt := range changes {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				c := writable(heldFleet())
				reads := 0
				interfered := interceptor.NewClient(c, interceptor.Funcs{
					Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
						err := inner.Get(ctx, key, obj, opts...)
						if o, ok := obj.(*sourcev1.GitRepository); ok && err == nil {
							if reads++; reads == 1 {
								other := o.DeepCopy()
								tt.change(other)
								g.Expect(inner.Update(ctx, other)).To(Succeed())
							}
						}
						return err
					},
				})
				r := wfctl(t, interfered, append(args, "--yes")...)
				if !tt.refused {
					g.Expect(r.code).To(Equal(ExitSuccess), r.stderr)
					return
				}
				g.Expect(r.code).To(Equal(ExitError), r.stdout)
				g.Expect(r.stderr).To(ContainSubstring("changed since the plan was made"))
				g.Expect(sourceOf(t, c, "flotillas/app-repo").Spec.Reference.Commit).To(Equal(commit("a")))
			})
		}
	}
}

// TestPartialFailure: one source that fails does not stop the others, and the
// exit code says so.
func TestPartialFailure(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := writable(quiescent(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if obj.GetName() == "app-repo" {
				return apierrors.NewForbidden(schema.GroupResource{Group: "source.toolkit.fluxcd.io", Resource: "gitrepositories"}, "app-repo", nil)
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	})
	r := wfctl(t, c, "pin-strip", "--suspend", "--yes")
	g.Expect(r.code).To(Equal(ExitError))
	g.Expect(r.stderr).To(And(ContainSubstring("wavefront-wfctl-operator"), ContainSubstring("1 of 3 steps")))
	g.Expect(sourceOf(t, c, "flotillas/app-repo").Spec.Reference.Commit).To(Equal(commit("a")))
	stripped := sourceOf(t, c, "flotillas/db-repo")
	g.Expect(stripped.Spec.Reference.Commit).To(BeEmpty())
	g.Expect(stripped.Annotations).To(BeEmpty())
}

// TestUninstallWithoutController: the finalizer goes although nobody is there to
// remove it.
func TestUninstallWithoutController(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := quiescent()
	f.wavefront.Finalizers = []string{wavefrontv1.WavefrontFinalizer}
	c := writable(f)
	r := wfctl(t, c, "uninstall", "--yes", "--timeout", time.Millisecond.String())
	g.Expect(r.code).To(Equal(ExitSuccess), r.stderr)
	g.Expect(apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Name: "fleet"}, &wavefrontv1.Wavefront{}))).To(BeTrue())
	o := sourceOf(t, c, "flotillas/app-repo")
	g.Expect(o.Spec.Reference.Commit).To(Equal(commit("a")), "releasePolicy Keep")
	g.Expect(o.Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation))
	g.Expect(r.stderr).To(ContainSubstring("left: GitRepository flotillas/app-repo stays at commit"))
}
