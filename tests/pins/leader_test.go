// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

const (
	leaseDuration = 5 * time.Second
	freezes       = 8
	// inFlight is how long after the freeze a request that was sent before it may
	// reach the API server's log.
	inFlight = time.Second
)

// replica is one of two controller processes, each with an account of its own, so that
// the audit log tells them apart.
type replica struct {
	*env.Controller
	user string
}

func newReplica(t *testing.T, e *env.Env, name string) *replica {
	t.Helper()
	ctx := t.Context()
	if name != env.ControllerName {
		bindLike(t, e, name)
	}
	kubeconfig, err := e.KubeconfigFor(ctx, env.RuntimeNamespace, name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.NewController(ctx, env.ControllerOptions{
		Name: name,
		Env:  []string{"KUBECONFIG=" + kubeconfig},
		Args: []string{
			"--enable-leader-election", "--leader-election-lease-duration=" + leaseDuration.String(),
			"--leader-election-renew-deadline=3s", "--leader-election-retry-period=500ms",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &replica{c, env.ServiceAccountUser(env.RuntimeNamespace, name)}
}

// bindLike makes an account with the roles of the controller's own.
func bindLike(t *testing.T, e *env.Env, name string) {
	t.Helper()
	ctx, c := t.Context(), e.Client()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: env.RuntimeNamespace, Name: name}}))
	mine := func(s rbacv1.Subject) bool { return s.Kind == "ServiceAccount" && s.Name == env.ControllerName }
	cluster := &rbacv1.ClusterRoleBindingList{}
	must(c.List(ctx, cluster))
	for _, b := range cluster.Items {
		if len(b.Subjects) == 1 && mine(b.Subjects[0]) {
			b.Subjects[0].Name = name
			must(c.Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: b.Name + "-" + name}, RoleRef: b.RoleRef, Subjects: b.Subjects}))
		}
	}
	local := &rbacv1.RoleBindingList{}
	must(c.List(ctx, local, client.InNamespace(env.RuntimeNamespace)))
	for _, b := range local.Items {
		if len(b.Subjects) == 1 && mine(b.Subjects[0]) {
			b.Subjects[0].Name = name
			must(c.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-" + name}, RoleRef: b.RoleRef, Subjects: b.Subjects}))
		}
	}
}

// frozen is a time during which a process must not have written.
type frozen struct {
	user     string
	from, to time.Time
}

// TestFrozenLeader: the leader is frozen for longer than its lease and then continued,
// again and again, while a fleet moves. It writes nothing that it had not sent before, and
// nothing is admitted twice.
func TestFrozenLeader(t *testing.T) {
	t.Parallel()
	e := env.ForTest(t, env.Options{Audit: true})
	// This makes the account and the roles.
	if _, err := e.NewController(t.Context(), env.ControllerOptions{}); err != nil {
		t.Fatal(err)
	}
	replicas := []*replica{newReplica(t, e, env.ControllerName), newReplica(t, e, "wavefront-controller-b")}
	for _, r := range replicas {
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixtureOn(t, e, "leader", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	f.ctx = ctx
	f.enforce()
	f.quiescent()
	mark, err := e.AuditLog().Mark()
	f.ok(err)

	stop := f.keepPushing("db", "app")
	var freezings []frozen
	for range freezes {
		leader := f.leader(replicas)
		from := time.Now()
		f.ok(leader.Pause())
		f.g.Eventually(func() *replica { return f.leader(replicas) }, patience, 50*time.Millisecond).
			ShouldNot(BeIdenticalTo(leader), "the other one takes over")
		f.awaitAdmission(mark, otherThan(replicas, leader).user, time.Now())
		f.ok(leader.Resume())
		// It finds its lease lost, and ends.
		f.g.Expect(leader.Wait(ctx)).To(HaveOccurred())
		f.ok(ctx.Err())
		freezings = append(freezings, frozen{leader.user, from.Add(inFlight), time.Now()})
		f.ok(leader.Start(ctx))
	}
	heads := stop()
	for _, name := range []string{"db", "app"} {
		f.awaitApplied(name, heads[name])
	}
	f.quiescent()
	for _, name := range []string{"db", "app"} {
		f.checkNothingDoubled(mark, name)
		for _, w := range f.writesTo(mark, name) {
			for _, z := range freezings {
				if w.User.Username == z.user && w.RequestReceived.After(z.from) && w.RequestReceived.Before(z.to) {
					t.Errorf("%s wrote %s to %s at %s, between %s and %s", z.user, w.commit, name, w.RequestReceived, z.from, z.to)
				}
			}
		}
	}
}

// leader is the replica that holds the lease; nil while none does.
func (f *fixture) leader(replicas []*replica) *replica {
	f.t.Helper()
	leases := &coordinationv1.LeaseList{}
	f.ok(f.env.Client().List(f.ctx, leases, client.InNamespace(env.RuntimeNamespace)))
	events, err := f.env.AuditLog().Events()
	f.ok(err)
	for _, l := range leases.Items {
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			continue
		}
		// Whose the lease is, is who last wrote it.
		for i := len(events) - 1; i >= 0; i-- {
			o := events[i].ObjectRef
			if o.Resource != "leases" || o.Name != l.Name || !events[i].IsWrite() || events[i].ResponseStatus.Code >= 300 {
				continue
			}
			for _, r := range replicas {
				if r.user == events[i].User.Username {
					return r
				}
			}
		}
	}
	return nil
}

func otherThan(replicas []*replica, r *replica) *replica {
	if replicas[0] == r {
		return replicas[1]
	}
	return replicas[0]
}

// awaitAdmission waits until a user has moved a pin after a moment.
func (f *fixture) awaitAdmission(mark int64, user string, after time.Time) {
	f.t.Helper()
	f.g.Eventually(func() bool {
		for _, name := range []string{"db", "app"} {
			for _, w := range f.writesTo(mark, name) {
				if w.User.Username == user && w.RequestReceived.After(after) {
					return true
				}
			}
		}
		return false
	}, patience, 200*time.Millisecond).Should(BeTrue(), "%s goes on", user)
}

// keepPushing pushes to nodes in turn until it is stopped, and then returns their last
// commits.
func (f *fixture) keepPushing(nodes ...string) (stop func() map[string]string) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	done := make(chan map[string]string, 1)
	go func() {
		heads := map[string]string{}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ; i++ {
			name := nodes[i%len(nodes)]
			commit, err := f.Push(f.ctx, name, testfleet.Release{Version: fmt.Sprint(i)})
			if err == nil {
				heads[name] = commit
				f.note(commit)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				done <- heads
				return
			}
		}
	}()
	return func() map[string]string {
		cancel()
		return <-done
	}
}

// checkNothingDoubled shows that every commit was admitted to a source once, in the order
// in which they were pushed.
func (f *fixture) checkNothingDoubled(mark int64, name string) {
	f.t.Helper()
	repo, err := f.Repository(name)
	f.ok(err)
	order := f.history(repo)
	last, admitted := "", 0
	for _, w := range f.writesTo(mark, name) {
		if w.commit == "" || w.commit == last {
			continue
		}
		if last != "" && order[w.commit] <= order[last] {
			f.t.Errorf("%s went from %s (number %d) to %s (number %d)", name, last, order[last], w.commit, order[w.commit])
		}
		last = w.commit
		admitted++
	}
	f.t.Logf("%s: %d pins of %d commits", name, admitted, len(order))
}

// history numbers the commits of a repository's branch, oldest first.
func (f *fixture) history(repo *env.Repository) map[string]int {
	f.t.Helper()
	numbers := map[string]int{}
	var newestFirst []string
	for i := 0; ; i++ {
		commit, err := repo.Resolve(f.ctx, fmt.Sprintf("main~%d", i))
		if err != nil {
			break
		}
		newestFirst = append(newestFirst, commit)
	}
	for i, commit := range newestFirst {
		numbers[commit] = len(newestFirst) - i
	}
	return numbers
}
