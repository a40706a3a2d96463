// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/ssa"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

var (
	errDied = errors.New("the process died")
	appKey  = client.ObjectKey{Namespace: "team", Name: "example"}
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, fluxappv1.AddToScheme, helmv2.AddToScheme, imagev1.AddToScheme, sourcev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

// cluster is a fake API server whose next writes succeed, and later ones find
// the process dead.
type cluster struct {
	client.WithWatch
	writes int
}

func newCluster(objects ...client.Object) *cluster {
	c := &cluster{writes: 1 << 30}
	c.WithWatch = fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).WithReturnManagedFields().
		WithStatusSubresource(&fluxappv1.FluxApp{}, &helmv2.HelmRelease{}, &imagev1.ImagePolicy{}, &imagev1.ImageRepository{}, &sourcev1.HelmRepository{}).Build()
	return c
}

// process is a controller as it is after its start.
func (c *cluster) process() *Reconciler {
	mortal := interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Patch: func(ctx context.Context, w client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0 {
				return nil
			}
			return c.write(func() error { return w.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, w client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.write(func() error { return w.Apply(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return c.write(func() error { return w.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
		Delete: func(ctx context.Context, w client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return c.write(func() error { return w.Delete(ctx, obj, opts...) })
		},
	})
	started := map[schema.GroupVersionKind]bool{}
	for _, kind := range childKinds {
		started[kind.gvk] = true
	}
	return &Reconciler{
		client: mortal, live: mortal,
		keeper:    owned.NewKeeper(mortal, mortal, ssa.Owner{Field: ApplyManager, Group: fluxappv1.GroupVersion.Group}),
		watches:   &watches{started: started},
		recorder:  events.NewNopRecorder(),
		announced: newAnnouncements(),
	}
}

func (c *cluster) write(do func() error) error {
	if c.writes <= 0 {
		return errDied
	}
	c.writes--
	return do()
}

// run reconciles until nothing more happens, or the process dies.
func (c *cluster) run(g Gomega, process *Reconciler) {
	for range 12 {
		if _, err := process.Reconcile(context.Background(), ctrl.Request{NamespacedName: appKey}); errors.Is(err, errDied) {
			return
		} else if err != nil {
			g.Expect(err).NotTo(HaveOccurred())
		}
		c.selectVersion(g)
	}
}

// selectVersion answers as image-reflector-controller does.
func (c *cluster) selectVersion(g Gomega) {
	ctx := context.Background()
	var repository imagev1.ImageRepository
	var policy imagev1.ImagePolicy
	if c.Get(ctx, appKey, &repository) != nil || c.Get(ctx, appKey, &policy) != nil || policy.Status.LatestRef != nil {
		return
	}
	conditions.MarkTrue(&repository, fluxmeta.ReadyCondition, "Succeeded", "scanned")
	g.Expect(c.Status().Update(ctx, &repository)).To(Succeed())
	conditions.MarkTrue(&policy, fluxmeta.ReadyCondition, "Succeeded", "selected")
	policy.Status.LatestRef = &imagev1.ImageRef{Name: repository.Spec.Image, Tag: "6.0.0"}
	g.Expect(c.Status().Update(ctx, &policy)).To(Succeed())
}

func (c *cluster) kinds(g Gomega) []string {
	var found []string
	for _, kind := range childKinds {
		err := c.Get(context.Background(), appKey, kind.empty())
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err == nil {
			found = append(found, kind.gvk.Kind)
		}
	}
	return found
}

func newFluxApp() *fluxappv1.FluxApp {
	return &fluxappv1.FluxApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: appKey.Namespace, Name: appKey.Name, UID: "app-uid", Generation: 1},
		Spec:       fluxappv1.FluxAppSpec{Chart: fluxappv1.ChartSpec{Repository: "oci://ghcr.io/charts/podinfo", Version: "~> 6"}},
	}
}

// A process that dies after any of its writes leaves nothing that the next one
// would not find: neither when the FluxApp changes form nor when it is deleted.
func TestDeathAfterAnyWrite(t *testing.T) {
	t.Parallel()
	whole := newCluster(newFluxApp())
	whole.run(NewWithT(t), whole.process())
	total := 1<<30 - whole.writes
	NewWithT(t).Expect(whole.kinds(NewWithT(t))).To(HaveLen(4))
	if total < 8 {
		t.Fatalf("only %d writes were made, four objects take more", total)
	}

	for n := range total {
		t.Run(fmt.Sprintf("%d of %d", n, total), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := newCluster(newFluxApp())
			c.writes = n
			c.run(g, c.process())
			c.writes = 1 << 30

			switched := c.get(g)
			switched.Spec.Chart.Version = "6.0.0"
			switched.Generation++
			g.Expect(c.Update(t.Context(), switched)).To(Succeed())
			c.run(g, c.process())
			g.Expect(c.kinds(g)).To(ConsistOf("HelmRepository", "HelmRelease"))
			inventory, err := readInventory(c.get(g))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(inventory).To(HaveLen(2))
		})
		t.Run(fmt.Sprintf("%d of %d, then deleted", n, total), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := newCluster(newFluxApp())
			c.writes = n
			c.run(g, c.process())
			c.writes = 1 << 30
			g.Expect(c.Delete(t.Context(), c.get(g))).To(Succeed())
			c.run(g, c.process())
			g.Expect(c.kinds(g)).To(BeEmpty())
			g.Expect(apierrors.IsNotFound(c.Get(t.Context(), appKey, &fluxappv1.FluxApp{}))).To(BeTrue())
		})
	}
}

// A deletion that is interrupted after any of its writes is completed.
func TestDeathWhileDeleting(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		g := NewWithT(t)
		c := newCluster(newFluxApp())
		c.run(g, c.process())
		g.Expect(c.Delete(t.Context(), c.get(g))).To(Succeed())
		c.writes = n
		c.run(g, c.process())
		c.writes = 1 << 30
		c.run(g, c.process())
		g.Expect(c.kinds(g)).To(BeEmpty())
		g.Expect(apierrors.IsNotFound(c.Get(t.Context(), appKey, &fluxappv1.FluxApp{}))).To(BeTrue())
	}
}

func (c *cluster) get(g Gomega) *fluxappv1.FluxApp {
	app := &fluxappv1.FluxApp{}
	g.Expect(c.Get(context.Background(), appKey, app)).To(Succeed())
	return app
}
