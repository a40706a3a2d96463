// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

func TestMain(m *testing.M) { os.Exit(env.Main(m, env.Options{Audit: true})) }

const (
	// patience is how long anything may take on a busy machine; a test takes twice as long
	// at most.
	patience = 5 * time.Minute
	// interval is the shortest poll interval.
	interval = 5 * time.Second

	kubectlEdit = "kubectl-edit"
	flux        = "kustomize-controller"
)

// theController runs once for all tests that don't stop it.
var theController struct {
	sync.Once
	err error
}

// fixture is one fleet with its Wavefront.
type fixture struct {
	*testfleet.Fleet
	t       *testing.T
	g       *WithT
	ctx     context.Context
	env     *env.Env
	catalog *env.Repository
	// sources are what the catalog renders.
	sources map[string]*sourcev1.GitRepository

	mu sync.Mutex
	// pushed are the commits of all sources in the order of their pushes.
	pushed []string
}

// newFixture makes a fleet on the control plane that all tests share, with the
// controller running.
func newFixture(t *testing.T, prefix string, nodes ...testfleet.Node) *fixture {
	t.Helper()
	e := env.Shared(t)
	theController.Do(func() { theController.err = startController(e) })
	if theController.err != nil {
		t.Fatalf("failed to start the controller: %v", theController.err)
	}
	return newFixtureOn(t, e, prefix, nodes...)
}

func startController(e *env.Env) error {
	controller, err := e.NewController(context.Background(), env.ControllerOptions{})
	if err != nil {
		return err
	}
	return controller.Start(context.Background())
}

// newFixtureOn makes a fleet, ready at its first commits, without a Wavefront.
func newFixtureOn(t *testing.T, e *env.Env, prefix string, nodes ...testfleet.Node) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	f := &fixture{t: t, g: NewWithT(t), ctx: ctx, env: e, sources: map[string]*sourcev1.GitRepository{}}
	fleet, err := testfleet.New(ctx, e, e.Namespace(t, prefix))
	f.ok(err)
	t.Cleanup(fleet.Close)
	f.Fleet = fleet
	f.ok(fleet.Add(ctx, nodes...))
	f.ok(fleet.AwaitReady(ctx))
	return f
}

// ok fails the test on an error, at the caller's line.
func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// enforce creates the fleet's Wavefront in Enforce and waits for the initial pins.
func (f *fixture) enforce(change ...func(*wavefrontv1.Wavefront)) {
	f.t.Helper()
	f.wavefront(wavefrontv1.ModeEnforce, change...)
	for _, n := range f.Nodes() {
		if n.Gate {
			continue
		}
		f.source(n.Source, "an initial pin", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) != "" })
	}
}

// wavefront creates the fleet's Wavefront.
func (f *fixture) wavefront(mode wavefrontv1.Mode, change ...func(*wavefrontv1.Wavefront)) {
	f.t.Helper()
	wf := f.Wavefront(mode)
	wf.Spec.Poll = wavefrontv1.Poll{
		Interval: &metav1.Duration{Duration: interval}, ReplicaLag: &metav1.Duration{Duration: 0},
	}
	for _, c := range change {
		c(wf)
	}
	f.ok(f.env.Client().Create(f.ctx, wf))
	f.t.Cleanup(func() {
		if err := f.env.Client().Delete(context.Background(), wf); client.IgnoreNotFound(err) != nil {
			f.t.Log(err)
		}
	})
}

// source waits until a source is as it should be.
func (f *fixture) source(name, what string, is func(*sourcev1.GitRepository) bool) *sourcev1.GitRepository {
	f.t.Helper()
	s, err := f.AwaitSource(f.ctx, name, is)
	if err != nil {
		f.t.Fatalf("waiting for %s on %s: %v\nlast: %s", what, name, err, describe(s))
	}
	return s
}

// status waits until the Wavefront's status is as it should be.
func (f *fixture) status(name, what string, is func(*wavefrontv1.WavefrontStatus) bool) *wavefrontv1.Wavefront {
	f.t.Helper()
	wf, err := testfleet.Await(f.ctx, f.env.Client(), &wavefrontv1.WavefrontList{}, client.ObjectKey{Name: name},
		func(w *wavefrontv1.Wavefront) bool { return is(&w.Status) })
	if err != nil {
		status, _ := yaml.Marshal(wf)
		f.t.Fatalf("waiting for %s: %v\nlast: %s", what, err, status)
	}
	return wf
}

// quiescent waits until the Wavefront has nothing left to do.
func (f *fixture) quiescent() {
	f.t.Helper()
	f.status(f.Namespace(), "quiescence", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Phase == wavefrontv1.PhaseQuiescent
	})
}

// get reads a source.
func (f *fixture) get(name string) *sourcev1.GitRepository {
	f.t.Helper()
	s := &sourcev1.GitRepository{}
	f.ok(f.env.Client().Get(f.ctx, client.ObjectKey{Namespace: f.Namespace(), Name: name}, s))
	return s
}

// patch changes a source by a merge patch, as somebody.
func (f *fixture) patch(name, manager, patch string) *sourcev1.GitRepository {
	f.t.Helper()
	s := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace(), Name: name}}
	f.ok(f.env.Client().Patch(f.ctx, s, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager)))
	return s
}

// pinBy pins a source by hand; an empty commit removes the pin.
func (f *fixture) pinBy(manager, name, commit string) *sourcev1.GitRepository {
	f.t.Helper()
	value := `"` + commit + `"`
	if commit == "" {
		value = "null"
	}
	return f.patch(name, manager, `{"spec":{"ref":{"commit":`+value+`}}}`)
}

// push commits a new release of a node.
func (f *fixture) push(node string) string {
	f.t.Helper()
	commit, err := f.Push(f.ctx, node, testfleet.Release{})
	f.ok(err)
	f.note(commit)
	return commit
}

// note remembers the order of pushes.
func (f *fixture) note(commit string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushed = append(f.pushed, commit)
}

func (f *fixture) awaitApplied(node, commit string) {
	f.t.Helper()
	f.ok(f.AwaitApplied(f.ctx, node, commit))
}

// withCatalog has kustomize-controller apply the sources from Git, as a catalog.
func (f *fixture) withCatalog(names ...string) {
	f.t.Helper()
	repo, err := f.env.Git().Create(f.ctx, f.Namespace()+"/catalog")
	f.ok(err)
	f.catalog = repo
	for _, name := range names {
		s := f.get(name)
		f.sources[name] = &sourcev1.GitRepository{
			TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.GitRepositoryKind},
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels},
			Spec:       *s.Spec.DeepCopy(),
		}
		f.sources[name].Spec.Reference.Commit = ""
	}
	first := f.render()
	meta := metav1.ObjectMeta{Namespace: f.Namespace(), Name: "catalog"}
	f.ok(f.env.Client().Create(f.ctx, &sourcev1.GitRepository{ObjectMeta: meta, Spec: sourcev1.GitRepositorySpec{
		URL: repo.URL(), Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
	}}))
	f.ok(f.env.Client().Create(f.ctx, &kustomizev1.Kustomization{ObjectMeta: meta, Spec: kustomizev1.KustomizationSpec{
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "catalog"},
		Interval:  metav1.Duration{Duration: time.Hour}, RetryInterval: &metav1.Duration{Duration: 2 * time.Second}, Prune: false,
	}}))
	f.awaitApplied("catalog", first)
}

// render commits what the catalog says of the sources.
func (f *fixture) render() string {
	f.t.Helper()
	files := env.Files{}
	for name, s := range f.sources {
		manifest, err := yaml.Marshal(s)
		f.ok(err)
		files[name+".yaml"] = string(withoutStatus(f.t, manifest))
	}
	commit, err := f.catalog.Commit(f.ctx, "main", "sources", files)
	f.ok(err)
	return commit
}

func withoutStatus(t *testing.T, manifest []byte) []byte {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal(manifest, &object); err != nil {
		t.Fatal(err)
	}
	delete(object, "status")
	out, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// deliver changes what Git says of the source app and has Flux apply it.
func (f *fixture) deliver(change func(*sourcev1.GitRepository)) {
	f.t.Helper()
	change(f.sources["app"])
	commit := f.render()
	f.request(&sourcev1.GitRepository{}, "catalog")
	f.awaitApplied("catalog", commit)
}

// reapply has Flux apply the catalog as it is, and waits until it has.
func (f *fixture) reapply() {
	f.t.Helper()
	token := f.request(&kustomizev1.Kustomization{}, "catalog")
	_, err := f.AwaitKustomization(f.ctx, "catalog", func(k *kustomizev1.Kustomization) bool {
		return k.Status.LastHandledReconcileAt == token && testfleet.IsReady(k)
	})
	f.ok(err)
}

// request asks Flux to reconcile an object now, as `flux reconcile` does.
func (f *fixture) request(object client.Object, name string) string {
	f.t.Helper()
	token := time.Now().Format(time.RFC3339Nano)
	object.SetNamespace(f.Namespace())
	object.SetName(name)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{fluxmeta.ReconcileRequestAnnotation: token},
	}})
	f.ok(err)
	f.ok(f.env.Client().Patch(f.ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("flux")))
	return token
}

// managersOf are the managers of spec.ref.commit.
func managersOf(t *testing.T, s *sourcev1.GitRepository) []string {
	t.Helper()
	var managers []string
	for _, e := range s.ManagedFields {
		fields := struct {
			Spec struct {
				Ref map[string]json.RawMessage `json:"f:ref"`
			} `json:"f:spec"`
		}{}
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
			t.Fatal(err)
		}
		if _, owns := fields.Spec.Ref["f:commit"]; owns {
			managers = append(managers, e.Manager)
		}
	}
	return managers
}

func held(s *sourcev1.GitRepository) bool { return s.Annotations[wavefrontv1.HeldByAnnotation] != "" }

func record(s *sourcev1.GitRepository) string {
	return s.Annotations[wavefrontv1.PinnedCommitAnnotation]
}

func describe(s *sourcev1.GitRepository) string {
	if s == nil {
		return "none"
	}
	out, err := json.Marshal(map[string]any{
		"ref": s.Spec.Reference, "annotations": s.Annotations, "artifact": s.Status.Artifact, "generation": s.Generation,
		"conditions": s.Status.Conditions,
	})
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// eventsOf are the events of one reason about an object, by its name.
func (f *fixture) eventsOf(reason, name string) []corev1.Event {
	f.t.Helper()
	list := &corev1.EventList{}
	f.ok(f.env.Client().List(f.ctx, list, client.InNamespace(f.Namespace())))
	var events []corev1.Event
	for _, e := range list.Items {
		if e.Reason == reason && e.InvolvedObject.Name == name {
			events = append(events, e)
		}
	}
	return events
}
