// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/pin"
	"github.com/isometry/wavefront-controller/internal/wfctl/hand"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

func managers(s *sourcev1.GitRepository) []string {
	o := pin.OwnershipOf(s.ManagedFields)
	if o.Ours {
		return append(o.Managers(), wavefrontv1.FieldManager)
	}
	return o.Managers()
}

// TestPinAndRelease: a source is held at an earlier commit while newer ones are
// pushed, and given back. The value never drops.
func TestPinAndRelease(t *testing.T) {
	t.Parallel()
	for _, mode := range []wavefrontv1.Mode{wavefrontv1.ModeEnforce, wavefrontv1.ModeShadow} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "hold", testfleet.Node{Name: "app"})
			first := testfleet.ArtifactOf(f.app())
			f.enforce()
			second := f.push("app")
			f.ok(f.AwaitPinned(f.ctx, "app", second))
			f.quiescent()
			timeline, err := f.Record(f.ctx, nil)
			f.ok(err)
			defer timeline.Close()
			if mode == wavefrontv1.ModeShadow {
				f.does(operator, "mode", "Shadow", "--yes")
				f.status("Shadow", func(wf *wavefrontv1.Wavefront) bool { return wf.Status.ObservedGeneration == wf.Generation })
			}

			r := f.does(operator, "pin", path(f, "app"), "--sha", first, "--yes", "--reason", "incident 4711")
			f.g.Expect(r.stderr).To(ContainSubstring("is the previous pin"))
			f.ok(f.AwaitApplied(f.ctx, "app", first))
			f.member("app", "the hold", func(m wavefrontv1.Member) bool { return m.Held && m.Pin == first })
			if mode == wavefrontv1.ModeEnforce {
				_, err = f.AwaitSource(f.ctx, "app", func(s *sourcev1.GitRepository) bool {
					return s.Annotations[wavefrontv1.HeldByAnnotation] != ""
				})
				f.ok(err)
			}
			refused := f.as(operator, "force-admit", path(f, "app"), "--yes")
			f.g.Expect(refused.code).To(Equal(1))

			f.does(operator, "release", path(f, "app"), "--yes")
			f.g.Expect(f.app().Annotations).NotTo(HaveKey(wavefrontv1.HeldByAnnotation))
			if mode == wavefrontv1.ModeEnforce {
				f.ok(f.AwaitApplied(f.ctx, "app", second))
				f.quiescent()
			} else {
				f.member("app", "the end of the hold", func(m wavefrontv1.Member) bool { return !m.Held && m.Pin == first })
			}
			f.g.Expect(managers(f.app())).To(ConsistOf(wavefrontv1.FieldManager))
			_, dropped := timeline.First(func(e testfleet.Entry) bool { return e.Kind == sourcev1.GitRepositoryKind && e.Pin == "" })
			f.g.Expect(dropped).To(BeFalse(), "the pin never dropped")

			history := f.does(viewer, "history", "--source", path(f, "app"), "-o", "json")
			f.g.Expect(history.stdout).To(And(
				ContainSubstring(`"reason": "PinnedByHand"`), ContainSubstring("incident 4711"),
				ContainSubstring("system:serviceaccount:default:"+operator), ContainSubstring(`"reason": "ReleasedByHand"`)))
		})
	}
}

// TestPinIsProved: a commit that the cluster never had must be proved.
func TestPinIsProved(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "proof", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	f.Hold("db")
	f.push("db")
	f.member("db", "db on its way", func(m wavefrontv1.Member) bool { return m.State == wavefrontv1.StateConverging })
	middle := f.push("app")
	head := f.push("app")
	repo, err := f.Repository("app")
	f.ok(err)
	f.ok(repo.SetRef(f.ctx, "refs/heads/side", middle))

	r := f.as(operator, "pin", path(f, "app"), "--sha", head, "--dry-run")
	f.g.Expect(r.stderr).To(ContainSubstring("--poll asks the git server"))
	r = f.does(operator, "pin", path(f, "app"), "--sha", head, "--poll", "--dry-run")
	f.g.Expect(r.stderr).To(ContainSubstring("is the head of refs/heads/main"))
	r = f.as(operator, "pin", path(f, "app"), "--sha", middle, "--poll", "--dry-run")
	f.g.Expect(r.code).To(Equal(1))
	f.g.Expect(r.stderr).To(ContainSubstring("is the head of refs/heads/side, but the source follows branch main"))
	r = f.as(operator, "pin", path(f, "app"), "--sha", "0123456789012345678901234567890123456789", "--poll", "--dry-run")
	f.g.Expect(r.stderr).To(ContainSubstring("is not advertised by the repository"))
	f.Release("db")
}

// TestForceAdmit: past the gate, once, and in order again from there.
func TestForceAdmit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "force", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	f.Hold("db")
	db := f.push("db")
	f.ok(f.AwaitPinned(f.ctx, "db", db))
	fix := f.push("app")
	f.member("app", "app waiting", func(m wavefrontv1.Member) bool { return m.ObservedSHA == fix && m.Blocked != nil })

	explained := f.does(viewer, "explain", path(f, "app"))
	f.g.Expect(explained.stdout).To(And(ContainSubstring("Root cause: Kustomization/"+path(f, "db")), ContainSubstring("wfctl force-admit")))
	r := f.does(operator, "force-admit", path(f, "app"), "--yes", "--reason", "the fix")
	f.g.Expect(r.stderr).To(And(ContainSubstring("is what refs/heads/main holds now"), ContainSubstring("it is passed over")))
	s := f.app()
	f.g.Expect(testfleet.PinOf(s)).To(Equal(fix))
	f.g.Expect(managers(s)).To(ConsistOf(wavefrontv1.FieldManager))
	f.g.Expect(s.Annotations[wavefrontv1.ForcedByAnnotation]).To(HaveSuffix(": the fix"))
	// Flux itself still has app wait for db; the pin has moved.
	f.Release("db")
	f.ok(f.AwaitApplied(f.ctx, "app", fix))
	f.quiescent()
	next := f.push("app")
	f.ok(f.AwaitPinned(f.ctx, "app", next))
	f.g.Expect(f.app().Annotations).NotTo(HaveKey(wavefrontv1.ForcedByAnnotation))
}

// TestAdopt: a backup tool has become the owner of every field.
func TestAdopt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "adopt", testfleet.Node{Name: "app"})
	f.enforce()
	s := f.app()
	commit := testfleet.PinOf(s)
	f.does(operator, "suspend", "--yes")
	restore(f, s)
	f.g.Expect(managers(f.app())).To(ConsistOf("velero-server"))

	f.does(operator, "adopt", "--all", "--manager", "velero-server", "--yes")
	after := f.app()
	f.g.Expect(managers(after)).To(ConsistOf(wavefrontv1.FieldManager))
	f.g.Expect(testfleet.PinOf(after)).To(Equal(commit))
	f.does(operator, "resume", "--yes")
	next := f.push("app")
	f.ok(f.AwaitPinned(f.ctx, "app", next))
}

// restore deletes a source and makes it again as a backup holds it.
func restore(f *fixture, s *sourcev1.GitRepository) {
	f.t.Helper()
	f.ok(f.env.Client().Delete(f.ctx, s))
	again := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels, Annotations: s.Annotations},
		Spec:       s.Spec,
	}
	f.g.Eventually(func() error {
		again.ResourceVersion = ""
		return f.env.Client().Create(f.ctx, again, client.FieldOwner("velero-server"))
	}).WithContext(f.ctx).Should(Succeed())
}

// TestStripAndResume: break-glass, and back.
func TestStripAndResume(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "strip", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	f.enforce()
	f.Hold("db")
	db := f.push("db")
	f.ok(f.AwaitPinned(f.ctx, "db", db))
	head := f.push("app")
	f.member("app", "app waiting", func(m wavefrontv1.Member) bool { return m.ObservedSHA == head })

	r := f.does(operator, "pin-strip", "--suspend", "--poll", "--yes", "--reason", "break the glass")
	f.g.Expect(r.stderr).To(ContainSubstring("to " + head[:8]))
	f.g.Expect(testfleet.PinOf(f.app())).To(BeEmpty())
	_, err := f.AwaitSource(f.ctx, "app", func(s *sourcev1.GitRepository) bool { return testfleet.ArtifactOf(s) == head })
	f.ok(err)
	wf := f.status("the suspension", func(wf *wavefrontv1.Wavefront) bool { return wf.Spec.Suspend })
	f.g.Expect(wf.Spec.Suspend).To(BeTrue())
	f.Release("db")
	f.does(operator, "resume", "--yes")
	f.ok(f.AwaitPinned(f.ctx, "app", head))
	f.quiescent()
}

// TestDerive: what wfctl derives at rest is what the controller publishes, and
// with --poll it sees what the controller has not seen.
func TestDerive(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "derive", testfleet.Node{Name: "db"}, testfleet.Node{Name: "gate", Gate: true, DependsOn: []string{"db"}},
		testfleet.Node{Name: "app", DependsOn: []string{"gate"}})
	f.enforce()
	var doc struct {
		Differences []map[string]string `json:"differences"`
		Published   map[string]any      `json:"published"`
	}
	f.g.Eventually(func(g Gomega) {
		for _, args := range [][]string{{"status", "--derive", "-o", "json"}, {"status", "--derive", "--poll", "-o", "json"}} {
			r := f.does(derive, args...)
			g.Expect(json.Unmarshal([]byte(r.stdout), &doc)).To(Succeed())
			g.Expect(doc.Published).NotTo(BeNil())
			g.Expect(doc.Differences).To(BeEmpty())
		}
	}).WithContext(f.ctx).Should(Succeed())

	f.does(operator, "suspend", "--yes")
	head := f.push("app")
	r := f.does(derive, "nodes", "--derive", "--poll")
	f.g.Expect(r.stdout).To(ContainSubstring(head[:8]))
}

// TestModeSuspendReconcile: the plain writes, and that each waits for its effect.
func TestModeSuspendReconcile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "modes", testfleet.Node{Name: "app"})
	f.create(wavefrontv1.ModeShadow)
	f.quiescent()
	f.g.Expect(testfleet.PinOf(f.app())).To(BeEmpty())
	f.does(operator, "reconcile", "--yes")
	f.does(operator, "mode", "enforce", "--yes")
	_, err := f.AwaitSource(f.ctx, "app", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) != "" })
	f.ok(err)
	f.quiescent()
	f.does(operator, "suspend", "--yes")
	head := f.push("app")
	f.does(operator, "reconcile", "--yes")
	f.member("app", "app waiting", func(m wavefrontv1.Member) bool {
		return m.ObservedSHA == head && m.Blocked != nil && m.Blocked.Reason == "Suspended"
	})
	r := f.does(operator, "resume", "--yes")
	f.g.Expect(r.stderr).To(ContainSubstring("will move from"))
	f.ok(f.AwaitPinned(f.ctx, "app", head))
	wf := f.quiescent()
	for _, e := range wf.ManagedFields {
		if e.Manager == "wfctl" {
			return
		}
	}
	t.Fatal("wfctl is no manager of the Wavefront")
}

// TestUninstall: with the controller it lets go; nothing stays terminating.
func TestUninstall(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "leave", testfleet.Node{Name: "app"})
	f.enforce()
	pinned := testfleet.PinOf(f.app())
	r := f.does(operator, "uninstall", "--yes", "--timeout", "1m")
	f.g.Expect(r.stderr).To(ContainSubstring("stays at commit " + pinned[:8]))
	err := f.env.Client().Get(f.ctx, client.ObjectKey{Name: f.Namespace()}, &wavefrontv1.Wavefront{})
	f.g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	f.g.Expect(f.app().Annotations).NotTo(HaveKey(wavefrontv1.OwnerAnnotation))
}

// TestChangedInBetween: the real API server refuses each write of an object that
// somebody changed since it was read.
func TestChangedInBetween(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "guard", testfleet.Node{Name: "app"})
	f.enforce()
	f.does(operator, "suspend", "--yes")
	first := f.app()
	f.ok(f.env.Client().Patch(f.ctx, first.DeepCopy(), client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"ref":{"commit":"`+strings.Repeat("c", 40)+`"}}}`)), client.FieldOwner("kubectl-edit")))
	w := hand.Writer{Client: f.env.Client(), Now: time.Now}
	other := strings.Repeat("b", 40)
	for name, write := range map[string]func() (*sourcev1.GitRepository, error){
		"pin":     func() (*sourcev1.GitRepository, error) { return w.Pin(f.ctx, first, other) },
		"release": func() (*sourcev1.GitRepository, error) { return w.Release(f.ctx, first, f.Namespace()) },
		"float":   func() (*sourcev1.GitRepository, error) { return w.Float(f.ctx, first) },
		"let go":  func() (*sourcev1.GitRepository, error) { return w.LetGo(f.ctx, first) },
		"force-admit": func() (*sourcev1.GitRepository, error) {
			return w.ForceAdmit(f.ctx, first, f.Namespace(), other, "jane")
		},
	} {
		_, err := write()
		f.g.Expect(err).To(MatchError(hand.ErrChanged), name)
	}
	f.g.Expect(testfleet.PinOf(f.app())).To(Equal(strings.Repeat("c", 40)))
}
