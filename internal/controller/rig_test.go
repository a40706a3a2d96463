// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/refs"
	"github.com/isometry/wavefront-controller/internal/report"
)

const (
	shaA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	shaB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

var midnight = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// rig runs both reconcilers on an API server in memory, with a clock and a lease
// that the test moves. The observer lists nothing.
type rig struct {
	*WithT
	client.WithWatch
	wavefronts *WavefrontReconciler
	sources    *SourceReconciler
	clock      *clocktesting.FakeClock
	inbox      *inbox
	// lease is what the check of the lease returns.
	lease error
	// refuse is asked before each write; nil refuses none.
	refuse func(client.Object) error
	// writes counts what was sent, by kind of write.
	writes map[string]int
}

// inbox is a Sink that keeps what it gets.
type inbox struct {
	mu     sync.Mutex
	events []report.Event
}

func (i *inbox) Send(e report.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.events = append(i.events, e)
}

// take empties the inbox and returns the reasons of events about a kind.
func (i *inbox) take(kind string) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	reasons := []string{}
	for _, e := range i.events {
		if e.Regarding.Kind == kind {
			reasons = append(reasons, e.Regarding.Name+" "+string(e.Reason))
		}
	}
	i.events = nil
	return reasons
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	r := &rig{
		WithT: NewWithT(t), clock: clocktesting.NewFakeClock(midnight), inbox: &inbox{}, writes: map[string]int{},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		wavefrontv1.AddToScheme, kustomizev1.AddToScheme, sourcev1.AddToScheme, helmv2.AddToScheme,
	} {
		r.Expect(add(scheme)).To(Succeed())
	}
	r.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().
		WithStatusSubresource(&wavefrontv1.Wavefront{}, &kustomizev1.Kustomization{}, &sourcev1.GitRepository{},
			&helmv2.HelmRelease{}, &sourcev1.HelmChart{}).
		WithInterceptorFuncs(r.intercept()).Build()
	for _, obj := range objects {
		r.add(obj)
	}
	r.restart()
	return r
}

// add creates an object with its status, as Flux would have.
func (r *rig) add(obj client.Object) {
	want := obj.DeepCopyObject().(client.Object)
	r.ExpectWithOffset(2, r.Create(context.Background(), obj, client.FieldOwner("kustomize-controller"))).To(Succeed())
	want.SetResourceVersion(obj.GetResourceVersion())
	if _, has := obj.(*wavefrontv1.Wavefront); !has {
		r.ExpectWithOffset(2, r.Status().Update(context.Background(), want, client.FieldOwner("flux"))).To(Succeed())
	}
}

// intercept counts the writes, and refuses some.
func (r *rig) intercept() interceptor.Funcs {
	send := func(kind string, obj client.Object) error {
		if r.refuse != nil {
			if err := r.refuse(obj); err != nil {
				return err
			}
		}
		r.writes[kind]++
		return nil
	}
	return interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := send("patch", obj); err != nil {
				return err
			}
			return c.Patch(ctx, obj, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := send(sub, obj); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, p, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := send("apply", nil); err != nil {
				return err
			}
			return c.Apply(ctx, obj, opts...)
		},
	}
}

// restart begins a new process: nothing is remembered but what the API server has.
func (r *rig) restart() {
	clk := refs.NewClock(r.clock)
	metrics, err := report.NewMetrics(prometheus.NewRegistry(), r.clock)
	r.Expect(err).NotTo(HaveOccurred())
	tracker := pin.NewTracker(clk.Now, clk.Time)
	judge := pin.Judge{Declarative: pin.DeclarativeManagers}
	lease := func() error { return r.lease }
	writer := &pin.Writer{
		Client: r, Live: r, Lease: lease, Tracker: tracker, Judge: judge, Now: clk.Now, Clock: clk.Time,
	}
	book, open := newLedger(), &barrier{open: true}
	r.wavefronts = &WavefrontReconciler{
		Client: r, Live: r, Reader: &cluster.Reader{Client: r, Newer: tracker.Newest}, Clock: clk,
		Observer: refs.NewObserver(refs.Options{Lister: refs.NewLister(refs.ListerOptions{Clock: clk, Client: r})}),
		Tracker:  tracker, Virtual: pin.NewVirtual(clk.Now), Judge: judge, Writer: writer,
		Reporter: report.New(r.inbox, metrics, r.clock), Shard: labels.Everything(), Lease: lease,
		barrier: open, roster: newRoster(), ledger: book,
	}
	r.sources = &SourceReconciler{Tracker: tracker, Writer: writer, barrier: open, ledger: book}
}

// see is what the informers do: everything that is there is taken in.
func (r *rig) see() {
	list := &sourcev1.GitRepositoryList{}
	r.ExpectWithOffset(2, r.List(context.Background(), list)).To(Succeed())
	for i := range list.Items {
		r.sources.Tracker.Observe(&list.Items[i])
	}
}

// pass reconciles a Wavefront once.
func (r *rig) pass(name string) (ctrl.Result, error) {
	r.see()
	return r.wavefronts.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
}

// mustPass reconciles a Wavefront once, a second later, without an error.
func (r *rig) mustPass(name string) ctrl.Result {
	r.clock.Step(2 * time.Second)
	result, err := r.pass(name)
	r.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return result
}

// react reconciles a source once.
func (r *rig) react(name string) (ctrl.Result, error) {
	r.see()
	return r.sources.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "apps", Name: name}})
}

func (r *rig) wavefront(name string) *wavefrontv1.Wavefront {
	wf := &wavefrontv1.Wavefront{}
	r.ExpectWithOffset(1, r.Get(context.Background(), client.ObjectKey{Name: name}, wf)).To(Succeed())
	return wf
}

func (r *rig) source(name string) *sourcev1.GitRepository {
	g := &sourcev1.GitRepository{}
	r.ExpectWithOffset(1, r.Get(context.Background(), client.ObjectKey{Namespace: "apps", Name: name}, g)).To(Succeed())
	return g
}

// edit merges a patch into an object, as somebody else does.
func (r *rig) edit(obj client.Object, patch string) {
	before := r.refuse
	r.refuse = nil
	r.ExpectWithOffset(1, r.Patch(context.Background(), obj, client.RawPatch(types.MergePatchType, []byte(patch)),
		client.FieldOwner("somebody"))).To(Succeed())
	r.refuse = before
}

// aWavefront selects the nodes that carry its name as the label "fleet".
func aWavefront(name string, mode wavefrontv1.Mode) *wavefrontv1.Wavefront {
	return &wavefrontv1.Wavefront{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: wavefrontv1.WavefrontSpec{
			Mode: mode,
			Nodes: wavefrontv1.NodeSelection{
				Kinds:    []wavefrontv1.NodeKind{wavefrontv1.NodeKindKustomization},
				Selector: metav1.LabelSelector{MatchLabels: map[string]string{"fleet": name}},
			},
			Poll: wavefrontv1.Poll{Interval: &metav1.Duration{Duration: 10 * time.Second}},
		},
	}
}

// aNode is ready at a commit of the source of its name.
func aNode(name, fleetLabel, commit string) *kustomizev1.Kustomization {
	k := &kustomizev1.Kustomization{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "apps", Name: name, UID: types.UID("node-" + name), Generation: 1,
			Labels: map[string]string{"fleet": fleetLabel},
		},
	}
	k.Spec.SourceRef = kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: name}
	k.Status.ObservedGeneration = 1
	k.Status.LastAppliedRevision, k.Status.LastAttemptedRevision = "main@sha1:"+commit, "main@sha1:"+commit
	k.Status.Conditions = ready()
	return k
}

// aSource is managed, floats on main, and has an artifact. It has no URL: this API
// server takes a URL that is left out of an apply for an empty one.
func aSource(name, commit string) *sourcev1.GitRepository {
	g := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "apps", Name: name, UID: types.UID("source-" + name), Generation: 1,
			Labels: map[string]string{wavefrontv1.ManagedLabel: "true"},
		},
		Spec: sourcev1.GitRepositorySpec{Reference: &sourcev1.GitRepositoryRef{Branch: "main"}},
	}
	g.Status.ObservedGeneration = 1
	g.Status.Artifact = &fluxmeta.Artifact{Revision: "main@sha1:" + commit, LastUpdateTime: metav1.NewTime(midnight)}
	g.Status.Conditions = ready()
	return g
}

func ready() []metav1.Condition {
	return []metav1.Condition{{
		Type: fluxmeta.ReadyCondition, Status: metav1.ConditionTrue, Reason: fluxmeta.SucceededReason,
		ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(midnight),
	}}
}

func idOf(name string) fleet.ID {
	return fleet.ID{Kind: fleet.KindGitRepository, Namespace: "apps", Name: name}
}
