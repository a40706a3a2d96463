// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"errors"
	"maps"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// world is an API server with one Writer, and everybody else.
type world struct {
	*Writer
	api   *apiServer
	clock *testClock
	// lease is what the lease check returns.
	lease error
	// refuse is what the server answers to every write of the Writer.
	refuse error
	// expires: the lease runs out while the server thinks.
	expires bool
	// writes counts what the Writer sent.
	writes int
}

var errNoLease = errors.New("no lease")

// newWorld has one source, applied by kustomize-controller.
func newWorld(g *WithT) *world {
	w := &world{api: newAPIServer(), clock: &testClock{}}
	w.Writer = &Writer{
		Client: &counting{w.api, w}, Live: w.api, Lease: func() error { return w.lease },
		Tracker: NewTracker(w.clock.now, w.clock.time), Judge: Judge{Declarative: DeclarativeManagers},
		Now: w.clock.now, Clock: w.clock.time,
	}
	w.applyAs(g, flux, nil, nil)
	w.api.put(wavefront())
	return w
}

// wavefront is the one that all tests enforce.
func wavefront(change ...func(*wavefrontv1.Wavefront)) *wavefrontv1.Wavefront {
	wf := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: fleetWF}}
	wf.Spec.Mode = wavefrontv1.ModeEnforce
	for _, c := range change {
		c(wf)
	}
	return wf
}

// pinned is a world whose source is pinned by the controller.
func pinned(g *WithT, commit string) *world {
	w := newWorld(g)
	r := w.Move(context.Background(), move("Initial", "", commit), w.see(g).GitRepository, fleetWF)
	g.ExpectWithOffset(1, r.Outcome).To(Equal(Written))
	w.writes = 0
	return w
}

// counting is the Writer's client.
type counting struct {
	*apiServer
	w *world
}

func (c *counting) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	c.w.writes++
	if c.w.expires {
		c.w.lease = errNoLease
	}
	if c.w.refuse != nil {
		return c.w.refuse
	}
	return c.apiServer.Apply(ctx, obj, opts...)
}

func (c *counting) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.w.writes++
	if c.w.refuse != nil {
		return c.w.refuse
	}
	return c.apiServer.Patch(ctx, obj, patch, opts...)
}

// applyAs applies the source as Flux does, by force: what Git renders, and more.
func (w *world) applyAs(g *WithT, manager string, spec map[string]any, annotations map[string]string) source {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(sourceGVK)
	u.SetNamespace("apps")
	u.SetName("repo")
	u.SetAnnotations(annotations)
	ref := map[string]any{}
	if manager == flux {
		u.SetLabels(map[string]string{wavefrontv1.ManagedLabel: "true"})
		u.Object["spec"] = map[string]any{"url": testURL, "interval": "1m0s", "ref": ref}
		ref["branch"] = "main"
	} else if len(spec) > 0 {
		u.Object["spec"] = map[string]any{"ref": ref}
	}
	maps.Copy(ref, spec)
	g.ExpectWithOffset(1, w.api.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(manager), client.ForceOwnership)).To(Succeed())
	return w.see(g)
}

// edit patches the source as kubectl edit does.
func (w *world) edit(g *WithT, manager, patch string) source {
	g.ExpectWithOffset(1, w.api.Patch(context.Background(), aSource(0).GitRepository,
		client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner(manager))).To(Succeed())
	return w.see(g)
}

func editCommit(value string) string { return `{"spec":{"ref":{"commit":` + value + `}}}` }

func quoted(value string) string { return `"` + value + `"` }

func commit(value string) map[string]any { return map[string]any{"commit": value} }

// see is the informer's event of the newest version.
func (w *world) see(g *WithT) source {
	s := w.read(g)
	w.Tracker.Observe(s.GitRepository)
	return source{w.Tracker.Newest(s.GitRepository)}
}

func (w *world) read(g *WithT) source {
	r := &sourcev1.GitRepository{}
	g.ExpectWithOffset(2, w.api.Get(context.Background(), client.ObjectKey{Namespace: "apps", Name: "repo"}, r)).To(Succeed())
	return source{r}
}

// react runs the reaction to the newest version.
func (w *world) react(g *WithT) Result {
	s := w.see(g)
	return w.React(context.Background(), s.GitRepository, s.facts(), Policy{Owner: fleetWF, Enforce: true})
}

// owners are the managers of the commit, ours first.
func owners(s source) []string {
	o := OwnershipOf(s.ManagedFields)
	if o.Ours {
		return append([]string{ours}, o.Managers()...)
	}
	return o.Managers()
}

func forbidden() error {
	return apierrors.NewForbidden(sourcev1.GroupVersion.WithResource("gitrepositories").GroupResource(), "repo", errors.New("no"))
}

func kustomization(name string, suspend bool) *kustomizev1.Kustomization {
	return &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name},
		Spec:       kustomizev1.KustomizationSpec{Suspend: suspend},
	}
}
