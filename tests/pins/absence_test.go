// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package pins

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// TestWhileTheControllerIsAway: pins are removed while nobody watches. What has floated
// on is not rolled back to an old record; what has not is put back; and a hold outlives
// the absence.
func TestWhileTheControllerIsAway(t *testing.T) {
	t.Parallel()
	e := env.ForTest(t, env.Options{})
	controller, err := e.NewController(t.Context(), env.ControllerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, e, "away", testfleet.Node{Name: "floated"}, testfleet.Node{Name: "still"},
		testfleet.Node{Name: "held"}, testfleet.Node{Name: "killed"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	f.ctx = ctx
	first := testfleet.ArtifactOf(f.get("held"))
	f.enforce()
	f.quiescent()
	f.awaitApplied("held", f.push("held"))
	f.pinBy(kubectlEdit, "held", first)
	f.source("held", "the hold", held)
	f.ok(controller.Stop())

	old := testfleet.PinOf(f.get("floated"))
	head := f.push("floated")
	f.pinBy("somebody", "floated", "")
	f.awaitApplied("floated", head)
	f.ok(e.SourceController().Stop())
	still := testfleet.PinOf(f.get("still"))
	f.pinBy("somebody", "still", "")
	f.ok(controller.Start(f.ctx))

	s := f.source("still", "the pin to be put back", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) != "" })
	f.g.Expect(testfleet.PinOf(s)).To(Equal(still))
	s = f.source("floated", "a new pin", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) != "" })
	f.g.Expect(testfleet.PinOf(s)).To(Equal(head), "not rolled back to %s", old)
	f.ok(e.SourceController().Start(f.ctx))
	f.status(f.Namespace(), "the hold", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Held == 1 && s.Nodes.Settled == 3
	})
	f.g.Expect(testfleet.PinOf(f.get("held"))).To(Equal(first))

	// Killed right after it has written: it goes on, and tells of it all the same;
	// after a crash an event may be repeated once.
	newest := f.push("killed")
	f.source("killed", "the admission", func(s *sourcev1.GitRepository) bool { return testfleet.PinOf(s) == newest })
	f.ok(controller.Kill())
	f.ok(controller.Start(f.ctx))
	f.awaitApplied("killed", newest)
	f.status(f.Namespace(), "all but the held one settled", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Settled == 3
	})
	f.g.Eventually(func() int { return len(f.eventsOf("PinAdvanced", "killed")) }, time.Minute, time.Second).
		Should(Or(Equal(1), Equal(2)))
}

// TestGitOutage: the git host is down. Pins and what runs stay as they are; only the error
// fields change; afterwards everything goes on.
func TestGitOutage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "outage", testfleet.Node{Name: "db", SourceInterval: 5 * time.Second},
		testfleet.Node{Name: "app", DependsOn: []string{"db"}, SourceInterval: 5 * time.Second})
	f.enforce()
	f.quiescent()
	before := map[string]*sourcev1.GitRepository{"db": f.get("db"), "app": f.get("app")}
	for name := range before {
		repo, err := f.Repository(name)
		f.ok(err)
		repo.Break(env.FaultInternal)
	}
	for name := range before {
		f.member(name, "the error", func(m wavefrontv1.Member) bool { return m.ObservationError != "" })
		f.source(name, "source-controller to fail", func(s *sourcev1.GitRepository) bool {
			for _, c := range s.Status.Conditions {
				if c.Type == sourcev1.FetchFailedCondition && c.Status == metav1.ConditionTrue {
					return true
				}
			}
			return false
		})
	}
	f.status(f.Namespace(), "what runs to stay settled", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Settled == 2 && s.Nodes.Unhealthy == 0
	})
	for name, s := range before {
		again := f.get(name)
		f.g.Expect(again.Generation).To(Equal(s.Generation))
		f.g.Expect(again.Annotations).To(Equal(s.Annotations))
		f.g.Expect(testfleet.ArtifactOf(again)).To(Equal(testfleet.ArtifactOf(s)))
		repo, err := f.Repository(name)
		f.ok(err)
		repo.Heal()
	}
	for _, name := range []string{"db", "app"} {
		f.awaitApplied(name, f.push(name))
	}
	f.quiescent()
}

// TestHugeHistory: a source that was fetched shallow in no time can't be fetched in full
// within its timeout, which a pin makes Flux do. It is reported, and holds up nobody.
func TestHugeHistory(t *testing.T) {
	t.Parallel()
	e := env.ForTest(t, env.Options{})
	if err := startController(e); err != nil {
		t.Fatal(err)
	}
	short := func(s *sourcev1.GitRepository) { s.Spec.Timeout = &metav1.Duration{Duration: 3 * time.Second} }
	f := newFixtureOn(t, e, "huge", testfleet.Node{Name: "huge", MutateSource: short}, testfleet.Node{Name: "behind", DependsOn: []string{"huge"}},
		testfleet.Node{Name: "other"})
	e.Git().Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, "/huge.git/") && isFullFetch(r) {
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	})
	f.enforce()
	f.g.Eventually(func() int { return len(f.eventsOf("EnrolmentFailed", "huge")) }, patience, time.Second).Should(Equal(1))
	head := f.push("other")
	f.awaitApplied("other", head)
	f.g.Expect(testfleet.ArtifactOf(f.get("huge"))).NotTo(BeEmpty(), "what runs stays")
	waits := f.push("behind")
	f.status(f.Namespace(), "what is behind to wait", func(s *wavefrontv1.WavefrontStatus) bool {
		return member(s, "behind").Blocked != nil
	})
	e.Git().Intercept(nil)
	f.awaitApplied("behind", waits)
	f.quiescent()
}

// isFullFetch tells whether a request fetches more than the newest commits.
func isFullFetch(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte("want ")) && !bytes.Contains(body, []byte("deepen "))
}

// TestUnsupportedReference: Git has the source follow a style that a pin can't hold.
func TestUnsupportedReference(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "style", testfleet.Node{Name: "app"}, testfleet.Node{Name: "db"})
	f.withCatalog("app")
	f.enforce(func(w *wavefrontv1.Wavefront) { w.Spec.ReleasePolicy = wavefrontv1.ReleaseFloat })
	f.quiescent()
	repo, err := f.Repository("app")
	f.ok(err)
	_, err = repo.Tag(f.ctx, "1.0.0", "main", "release")
	f.ok(err)
	f.deliver(func(s *sourcev1.GitRepository) { s.Spec.Reference = &sourcev1.GitRepositoryRef{SemVer: "1.x"} })
	f.status(f.Namespace(), "the hold", func(s *wavefrontv1.WavefrontStatus) bool {
		return len(s.Held) == 1 && s.Held[0].Reason == "UnsupportedRef"
	})
	f.source("app", "the release by policy", func(s *sourcev1.GitRepository) bool {
		return testfleet.PinOf(s) == "" && owner(s) == ""
	})
	head := f.push("db")
	f.awaitApplied("db", head)
}

// TestManyHolds: the list of holds is capped, the counts are not.
func TestManyHolds(t *testing.T) {
	t.Parallel()
	var nodes []testfleet.Node
	for _, name := range strings.Split("abcdefghijklmnopqrstuv", "") {
		nodes = append(nodes, testfleet.Node{Name: "node-" + name, Source: "mono-" + string(name[0]%2+'0'), DependsOn: nil})
	}
	f := newFixture(t, "many", nodes...)
	f.enforce()
	f.quiescent()
	first := map[string]string{}
	for _, source := range []string{"mono-0", "mono-1"} {
		first[source] = testfleet.PinOf(f.get(source))
	}
	commits := map[string]string{}
	for _, n := range []string{"node-a", "node-b"} {
		commits[n] = f.push(n)
		f.awaitApplied(n, commits[n])
	}
	for source, commit := range first {
		f.pinBy(kubectlEdit, source, commit)
	}
	f.status(f.Namespace(), "all holds in the count", func(s *wavefrontv1.WavefrontStatus) bool {
		return s.Nodes != nil && s.Nodes.Held == len(nodes) && len(s.Held) == wavefrontv1.MaxListed
	})
	f.g.Expect(len(nodes)).To(BeNumerically(">", wavefrontv1.MaxListed))
}
