// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet_test

import (
	"context"
	"os"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

func TestMain(m *testing.M) { os.Exit(env.Main(m, env.Options{})) }

// newFleet makes a fleet of a chain "db -> app" and a monorepo "infra -> apps".
func newFleet(t *testing.T, prefix string) (*testfleet.Fleet, context.Context) {
	t.Helper()
	g := NewWithT(t)
	e := env.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	fleet, err := testfleet.New(ctx, e, e.Namespace(t, prefix))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(fleet.Close)
	g.Expect(fleet.Add(ctx,
		testfleet.Node{Name: "db"},
		testfleet.Node{Name: "app", DependsOn: []string{"db"}},
		testfleet.Node{Name: "infra", Source: "mono"},
		testfleet.Node{Name: "apps", Source: "mono", DependsOn: []string{"infra"}},
	)).To(Succeed())
	return fleet, ctx
}

// pin does what the controller does.
func pin(ctx context.Context, fleet *testfleet.Fleet, source, commit string) error {
	object := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: fleet.Namespace(), Name: source}}
	patch := []byte(`{"spec":{"ref":{"commit":"` + commit + `"}}}`)
	return fleet.Env().Client().Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch))
}

func TestFleetComesUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fleet, ctx := newFleet(t, "up")
	g.Expect(fleet.AwaitReady(ctx)).To(Succeed())

	g.Expect(fleet.Ancestors("app")).To(ConsistOf(HaveField("Name", "db")))
	g.Expect(fleet.Add(ctx, testfleet.Node{Name: "db"})).To(MatchError(os.ErrExist))
	_, err := fleet.Push(ctx, "nobody", testfleet.Release{})
	g.Expect(err).To(MatchError(testfleet.ErrUnknown))
}

func TestReleasesEndAsTheySay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		release testfleet.Release
		reason  string
	}{
		{name: "fail", release: testfleet.Release{Fail: true}, reason: fluxmeta.HealthCheckFailedReason},
		{name: "invalid", release: testfleet.Release{Invalid: true}, reason: fluxmeta.BuildFailedReason},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			fleet, ctx := newFleet(t, tt.name)
			g.Expect(fleet.AwaitReady(ctx)).To(Succeed())
			commit, err := fleet.Push(ctx, "db", tt.release)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pin(ctx, fleet, "db", commit)).To(Succeed())
			_, err = fleet.AwaitKustomization(ctx, "db", func(k *kustomizev1.Kustomization) bool {
				ready := apimeta.FindStatusCondition(k.Status.Conditions, fluxmeta.ReadyCondition)
				return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == tt.reason
			})
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

func TestHoldKeepsNodeOnItsWay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fleet, ctx := newFleet(t, "hold")
	g.Expect(fleet.AwaitReady(ctx)).To(Succeed())
	fleet.Hold("db")
	commit, err := fleet.Push(ctx, "db", testfleet.Release{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pin(ctx, fleet, "db", commit)).To(Succeed())
	object, err := fleet.AwaitKustomization(ctx, "db", func(k *kustomizev1.Kustomization) bool {
		return testfleet.CommitOf(k.Status.LastAttemptedRevision) == commit
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testfleet.IsReady(object)).To(BeFalse())
	fleet.Release("db")
	g.Expect(fleet.AwaitApplied(ctx, "db", commit)).To(Succeed())
}

func TestTimelineTellsOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		first string
		then  string
		err   error
	}{
		{name: "ordered", first: "db", then: "app"},
		{name: "reversed", first: "app", then: "db", err: testfleet.ErrOrder},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			fleet, ctx := newFleet(t, tt.name)
			g.Expect(fleet.AwaitReady(ctx)).To(Succeed())
			timeline, err := fleet.Record(ctx, nil)
			g.Expect(err).NotTo(HaveOccurred())
			defer timeline.Close()

			commits := map[string]string{}
			for _, name := range []string{tt.first, tt.then} {
				commits[name], err = fleet.Push(ctx, name, testfleet.Release{})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(pin(ctx, fleet, name, commits[name])).To(Succeed())
				_, err := timeline.Await(ctx, testfleet.Applied(name, commits[name]))
				g.Expect(err).NotTo(HaveOccurred())
			}
			err = timeline.CheckOrder(commits)
			if tt.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tt.err))
		})
	}
}
