// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// edits is how often somebody does something to a source.
const edits = 300

// TestStorm: hundreds of edits by hand, at random, against a moving fleet. Afterwards the
// audit log shows that every write of the controller kept the rules.
func TestStorm(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "storm", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}})
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	f.ctx = ctx
	f.withCatalog("db", "app")
	f.enforce()
	f.quiescent()
	for range 4 { // something to go back to
		f.push("db")
		f.push("app")
	}
	mark, err := f.env.AuditLog().Mark()
	f.ok(err)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	stop := f.keepPushing("db", "app")
	f.storm(rand.New(rand.NewPCG(seed, 0)))
	heads := stop()

	// The storm is over: every hold ends, and the fleet arrives.
	for _, name := range []string{"db", "app"} {
		f.g.Eventually(func(g Gomega) {
			if held(f.get(name)) {
				f.pinBy(kubectlEdit, name, "")
			}
			g.Expect(testfleet.PinOf(f.get(name))).To(Equal(heads[name]))
		}, 2*patience, time.Second).Should(Succeed())
		f.awaitApplied(name, heads[name])
	}
	f.quiescent()
	for _, name := range []string{"db", "app"} {
		f.checkRules(mark, name)
	}
	f.checkPushOrder(mark, "db", "app")
}

// evaluation is how long ago the controller may have looked at another source than the
// one that it writes.
const evaluation = 2 * time.Second

// checkPushOrder shows that no commit was admitted to a source while its ancestor was not
// yet at (or past) what had been pushed to the ancestor before it.
func (f *fixture) checkPushOrder(mark int64, ancestor, name string) {
	f.t.Helper()
	repo, err := f.Repository(ancestor)
	f.ok(err)
	order := f.history(repo)
	needs, newest := map[string]int{}, 0
	for _, commit := range f.pushed {
		newest = max(newest, order[commit])
		needs[commit] = newest
	}
	controller := env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName)
	above := f.writesTo(mark, ancestor)
	previous, checked := "", 0
	for _, w := range f.writesTo(mark, name) {
		advance := w.User.Username == controller && previous != "" && w.commit != previous
		previous = w.commit
		if !advance {
			continue
		}
		checked++
		best, state := 0, 0
		for _, a := range above {
			if a.RequestReceived.After(w.RequestReceived) {
				break
			}
			if w.RequestReceived.Sub(a.RequestReceived) <= evaluation {
				best = max(best, state)
			}
			state = order[a.commit]
		}
		if best = max(best, state); best < needs[w.commit] {
			f.t.Errorf("%s was admitted to %s with %s at its commit number %d, although number %d had been pushed before",
				w.commit, name, ancestor, best, needs[w.commit])
			f.logWrites(ancestor, order, above, w.RequestReceived)
		}
	}
	f.t.Logf("%d admissions to %s behind %s", checked, name, ancestor)
	f.g.Expect(checked).To(BeNumerically(">", 0))
}

// storm edits sources at random.
func (f *fixture) storm(random *rand.Rand) {
	f.t.Helper()
	managers := []string{kubectlEdit, "kubectl-patch", "wfctl", "somebody"}
	orders := map[string][]string{}
	for i := range edits {
		if i%30 == 29 {
			f.calm()
		}
		name := []string{"db", "app"}[random.IntN(2)]
		if len(orders[name]) == 0 || random.IntN(20) == 0 {
			orders[name] = f.commits(name)
		}
		manager := managers[random.IntN(len(managers))]
		switch random.IntN(8) {
		case 0, 1, 2:
			f.pinBy(manager, name, orders[name][random.IntN(len(orders[name]))])
		case 3, 4:
			f.pinBy(manager, name, "")
		case 5:
			f.patch(name, manager, `{"metadata":{"annotations":{"`+wavefrontv1.PinnedCommitAnnotation+`":null}},"spec":{"ref":{"commit":null}}}`)
		case 6:
			f.patch(name, manager, `{"metadata":{"annotations":{"`+wavefrontv1.HeldByAnnotation+`":null}}}`)
		case 7:
			f.request(&sourcev1.GitRepository{}, "catalog")
		}
		pauseRandomly(f.ctx, random, 150*time.Millisecond)
	}
}

// calm ends the holds until something is admitted again.
func (f *fixture) calm() {
	f.t.Helper()
	before := testfleet.PinOf(f.get("app"))
	f.g.Eventually(func(g Gomega) {
		for _, name := range []string{"db", "app"} {
			if held(f.get(name)) {
				f.pinBy(kubectlEdit, name, "")
			}
		}
		s := f.get("app")
		g.Expect(held(s)).To(BeFalse())
		g.Expect(testfleet.PinOf(s)).NotTo(Or(BeEmpty(), Equal(before)))
	}, patience, time.Second).Should(Succeed())
}

// pauseRandomly spreads the edits: people don't come all at once.
func pauseRandomly(ctx context.Context, random *rand.Rand, limit time.Duration) {
	timer := time.NewTimer(time.Duration(random.Int64N(int64(limit))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// commits are the commits of a source's branch.
func (f *fixture) commits(name string) []string {
	f.t.Helper()
	repo, err := f.Repository(name)
	f.ok(err)
	var all []string
	for commit := range f.history(repo) {
		all = append(all, commit)
	}
	return all
}

// logWrites tells what was written to a source around a moment.
func (f *fixture) logWrites(name string, order map[string]int, writes []sourceWrite, at time.Time) {
	f.t.Helper()
	for _, w := range writes {
		if d := w.RequestReceived.Sub(at); d > -10*time.Second && d < 2*time.Second {
			f.t.Logf("%s %+6.3fs %s %s: commit number %d, artifact number %d",
				name, d.Seconds(), w.User.Username, w.ObjectRef.Subresource, order[w.commit], order[w.artifact])
		}
	}
}

// checkRules shows from the audit log that the controller never forced, touched nothing
// but the commit and its annotations, named the version it had judged, and wrote no commit
// but one of the branch; and that nobody's commit was overwritten but by its holder.
func (f *fixture) checkRules(mark int64, name string) {
	f.t.Helper()
	repo, err := f.Repository(name)
	f.ok(err)
	order := f.history(repo)
	controller := env.ServiceAccountUser(env.RuntimeNamespace, env.ControllerName)
	writes := f.writesTo(mark, name)
	counts := map[string]int{}
	previous := ""
	for i, w := range writes {
		if w.User.Username != controller {
			previous = w.commit
			continue
		}
		counts["writes"]++
		f.g.Expect(w.RequestURI).NotTo(ContainSubstring("force=true"))
		f.g.Expect(w.RequestURI).To(ContainSubstring("fieldManager=" + wavefrontv1.FieldManager))
		f.checkBody(w.RequestObject)
		if w.commit != "" {
			f.g.Expect(order).To(HaveKey(strings.ToLower(w.commit)), "a commit of the branch")
		}
		if i > 0 && w.commit != previous {
			counts["changes"]++
			f.g.Expect(w.commit).NotTo(BeEmpty(), "the controller never removes a commit here")
		}
		previous = w.commit
	}
	f.t.Logf("%s: %d writes in all, by the controller %v", name, len(writes), counts)
	f.g.Expect(counts["changes"]).To(BeNumerically(">", 0))
}

// checkBody looks at what one request of the controller asked for.
func (f *fixture) checkBody(body json.RawMessage) {
	f.t.Helper()
	var request struct {
		Metadata struct {
			UID             string             `json:"uid"`
			ResourceVersion string             `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations"`
			Labels          map[string]string  `json:"labels"`
		} `json:"metadata"`
		Spec map[string]map[string]any `json:"spec"`
	}
	f.ok(json.Unmarshal(body, &request))
	f.g.Expect(request.Metadata.UID).NotTo(BeEmpty())
	f.g.Expect(request.Metadata.ResourceVersion).NotTo(BeEmpty())
	f.g.Expect(request.Metadata.Labels).To(BeEmpty())
	for key := range request.Metadata.Annotations {
		f.g.Expect(key).To(HavePrefix("wavefront.as-code.io/"))
	}
	for field, value := range request.Spec {
		f.g.Expect(field).To(Equal("ref"))
		for key := range value {
			f.g.Expect(key).To(Equal("commit"))
		}
	}
}
