// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/isometry/wavefront-controller/internal/fluxapp/owned"
)

// bench is a Keeper on a fake API server whose requests are counted.
type bench struct {
	client.Client
	keeper   *owned.Keeper
	owner    *corev1.Secret
	requests int
}

func newBench(objects ...client.Object) *bench {
	b := &bench{owner: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "owner", UID: "owner-uid"}}}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	b.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, b.owner)...).WithReturnManagedFields().Build()
	counted := interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			b.requests++
			return c.Get(ctx, key, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			b.requests++
			if err := c.Patch(ctx, obj, patch, opts...); err != nil {
				return err
			}
			return answerAsServer(ctx, c, obj, opts)
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			b.requests++
			return c.Apply(ctx, obj, opts...)
		},
	})
	b.keeper = owned.NewKeeper(counted, counted, ssa.Owner{Field: "keeper", Group: "keeper.test"})
	return b
}

// answerAsServer puts the resource version into the answer to a dry run, which
// the fake API server leaves out.
func answerAsServer(ctx context.Context, c client.Client, obj client.Object, opts []client.PatchOption) error {
	if len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) == 0 {
		return nil
	}
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	err := c.Get(ctx, client.ObjectKeyFromObject(obj), existing)
	obj.SetResourceVersion(existing.GetResourceVersion())
	return client.IgnoreNotFound(err)
}

func (b *bench) observed(g Gomega, names ...string) []client.Object {
	var objects []client.Object
	for _, name := range names {
		obj := &corev1.ConfigMap{}
		g.Expect(b.Get(context.Background(), client.ObjectKey{Namespace: "team", Name: name}, obj)).To(Succeed())
		objects = append(objects, obj)
	}
	return objects
}

func configMap(name string, change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string]string{"key": "value"}}
	for _, c := range change {
		c(obj)
	}
	return obj
}

func ref(name string) owned.Ref {
	return owned.NewRef(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, client.ObjectKey{Namespace: "team", Name: name})
}

func TestApplyCreatesOwnsAndSettles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench()
	desired := []client.Object{configMap("one"), configMap("two")}
	outcome, err := b.keeper.Apply(t.Context(), b.owner, desired, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owned.Subjects(outcome.Changed)).To(Equal("ConfigMap team/one, ConfigMap team/two"))
	g.Expect(outcome.Current).To(BeFalse(), "what was changed cannot be judged yet")
	for _, obj := range b.observed(g, "one", "two") {
		g.Expect(metav1.IsControlledBy(obj, b.owner)).To(BeTrue())
		g.Expect(obj.GetLabels()).To(Equal(map[string]string{"keeper.test/name": "owner", "keeper.test/namespace": "team"}))
	}

	b.requests = 0
	outcome, err = b.keeper.Apply(t.Context(), b.owner, desired, b.observed(g, "one", "two"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcome).To(Equal(owned.Outcome{Current: true}))
	g.Expect(b.requests).To(BeZero(), "nothing changed")

	outcome, err = b.keeper.Apply(t.Context(), b.owner, desired, b.observed(g, "one"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcome.Changed).To(BeEmpty())
	g.Expect(outcome.Current).To(BeFalse(), "the cache lags behind")
	g.Expect(b.requests).NotTo(BeZero())

	b.keeper.Forget(client.ObjectKeyFromObject(b.owner))
	outcome, err = b.keeper.Apply(t.Context(), b.owner, desired, b.observed(g, "one", "two"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcome).To(Equal(owned.Outcome{Current: true}), "a new process finds all in order")
}

func TestApplyCorrects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		drift func(*corev1.ConfigMap)
	}{
		{name: "a label", drift: func(c *corev1.ConfigMap) { delete(c.Labels, "keeper.test/name") }},
		{name: "the owner", drift: func(c *corev1.ConfigMap) { c.OwnerReferences = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := newBench()
			desired := []client.Object{configMap("one")}
			_, err := b.keeper.Apply(t.Context(), b.owner, desired, nil)
			g.Expect(err).NotTo(HaveOccurred())
			found := b.observed(g, "one")[0].(*corev1.ConfigMap)
			tt.drift(found)
			g.Expect(b.Update(t.Context(), found)).To(Succeed())

			outcome, err := b.keeper.Apply(t.Context(), b.owner, desired, b.observed(g, "one"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(outcome.Changed).To(ConsistOf(ref("one")))
			fixed := b.observed(g, "one")[0]
			g.Expect(metav1.IsControlledBy(fixed, b.owner)).To(BeTrue())
			g.Expect(fixed.GetLabels()).To(HaveKeyWithValue("keeper.test/name", "owner"))
		})
	}
}

func controlledBy(kind, name, uid string) func(*corev1.ConfigMap) {
	return func(c *corev1.ConfigMap) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}}
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	labelled := func(c *corev1.ConfigMap) {
		c.Labels = map[string]string{"keeper.test/name": "owner", "keeper.test/namespace": "team"}
	}
	tests := []struct {
		name    string
		change  func(*corev1.ConfigMap)
		wantErr string
	}{
		{name: "nobody's", change: func(*corev1.ConfigMap) {}, wantErr: "ConfigMap team/one exists already and was not created for this object"},
		{name: "somebody's", change: controlledBy("Deployment", "other", "other-uid"), wantErr: "is controlled by Deployment other"},
		{name: "somebody's in spite of labels", change: func(c *corev1.ConfigMap) { labelled(c); controlledBy("Deployment", "other", "other-uid")(c) }, wantErr: "is controlled by Deployment other"},
		{name: "another owner's of the kind", change: controlledBy("Secret", "other", "other-uid"), wantErr: "is controlled by Secret other"},
		{name: "half handed over", change: func(c *corev1.ConfigMap) { c.Labels = map[string]string{"keeper.test/name": "owner"} }, wantErr: "exists already"},
		{name: "handed over", change: labelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := newBench(configMap("one", tt.change))
			_, err := b.keeper.Apply(t.Context(), b.owner, []client.Object{configMap("zero"), configMap("one")}, nil)
			if tt.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(metav1.IsControlledBy(b.observed(g, "one")[0], b.owner)).To(BeTrue())
				return
			}
			var conflict *owned.ConflictError
			g.Expect(errors.As(err, &conflict)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
			g.Expect(apierrors.IsNotFound(b.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "zero"}, &corev1.ConfigMap{}))).
				To(BeTrue(), "a conflict is found before anything is written")
		})
	}
}

func TestBelongsToAnEarlierOwnerOfTheName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBench()
	g.Expect(b.keeper.Belongs(b.owner, configMap("one", controlledBy("Secret", "owner", "earlier-uid")))).To(BeTrue())
	g.Expect(b.keeper.Belongs(b.owner, configMap("one", controlledBy("ConfigMap", "owner", "earlier-uid")))).To(BeFalse())
}

func TestDelete(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ours := controlledBy("Secret", "owner", "owner-uid")
	b := newBench(
		configMap("ours", ours),
		configMap("kept", ours, func(c *corev1.ConfigMap) { c.Finalizers = []string{"keeper.test/wait"} }),
		configMap("foreign"),
	)
	refs := []owned.Ref{ref("ours"), ref("kept"), ref("foreign"), ref("missing"),
		owned.NewRef(schema.GroupVersionKind{Group: "no.such", Version: "v1", Kind: "Thing"}, client.ObjectKey{Namespace: "team", Name: "thing"})}
	removal, err := b.keeper.Delete(t.Context(), b.owner, refs)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(removal.Deleted).To(ConsistOf(ref("ours"), ref("kept")))
	g.Expect(removal.Remaining).To(ConsistOf(ref("kept")))

	removal, err = b.keeper.Delete(t.Context(), b.owner, refs)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(removal.Deleted).To(BeEmpty(), "it is being deleted already")
	g.Expect(removal.Remaining).To(ConsistOf(ref("kept")))
	b.observed(g, "foreign")
}

// An inventory that was tampered with does not reach into other namespaces.
func TestDeleteStaysInTheNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	elsewhere := func(c *corev1.ConfigMap) { c.Namespace = "other" }
	b := newBench(configMap("one", elsewhere, controlledBy("Secret", "owner", "uid-of-their-owner")))
	theirs := ref("one")
	theirs.Namespace = "other"
	removal, err := b.keeper.Delete(t.Context(), b.owner, []owned.Ref{theirs})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(removal).To(Equal(owned.Removal{}))
	g.Expect(b.Get(t.Context(), client.ObjectKey{Namespace: "other", Name: "one"}, &corev1.ConfigMap{})).To(Succeed())
}

func TestDeleteGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ours := controlledBy("Secret", "owner", "owner-uid")
	failing := interceptor.NewClient(newBench(configMap("one", ours), configMap("two", ours)).Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if obj.GetName() == "one" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "one", errors.New("no"))
			}
			return c.Delete(ctx, obj, opts...)
		},
	})
	keeper := owned.NewKeeper(failing, failing, ssa.Owner{Field: "keeper", Group: "keeper.test"})
	removal, err := keeper.Delete(t.Context(), newBench().owner, []owned.Ref{ref("one"), ref("two")})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring("failed to delete ConfigMap team/one")))
	g.Expect(removal.Deleted).To(ConsistOf(ref("two")))
	g.Expect(removal.Remaining).To(ConsistOf(ref("one")))
}
