// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// nodes of the demonstration: a chain of three with a gate in it, an independent
// branch, and a monorepo with two nodes on one source.
var nodes = []testfleet.Node{
	{Name: "database"},
	{Name: "migrated", Gate: true, DependsOn: []string{"database"}},
	{Name: "api", DependsOn: []string{"migrated"}},
	{Name: "web", DependsOn: []string{"api"}},
	{Name: "shop", DependsOn: []string{"web"}},
	{Name: "cache"},
	{Name: "worker", DependsOn: []string{"cache"}},
	{Name: "infra", Source: "platform", DependsOn: []string{"database"}},
	{Name: "apps", Source: "platform", DependsOn: []string{"infra"}},
}

// story is the demonstration while it runs.
type story struct {
	*testfleet.Fleet
	view      *view
	timeline  *testfleet.Timeline
	wavefront *wavefrontv1.Wavefront
	// rollouts are the commits, by source, that were pushed together and have
	// to have moved in order.
	rollouts []map[string]string
	// failures are claims that turned out wrong.
	failures []error
}

// run plays the steps in order.
func (s *story) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.makeFleet, s.initialPins, s.leafFirst, s.breakIt, s.fixIt, s.releaseSet,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) makeFleet(ctx context.Context) error {
	s.view.headline("A fleet of %d Kustomizations on %d repositories; nothing orders their updates yet", len(nodes), len(nodes)-1)
	if err := s.Add(ctx, nodes...); err != nil {
		return err
	}
	if err := s.AwaitReady(ctx); err != nil {
		return err
	}
	timeline, err := s.Record(ctx, s.view.entry)
	s.timeline = timeline
	return err
}

func (s *story) initialPins(ctx context.Context) error {
	s.view.headline("1. A Wavefront in Enforce: every managed source is pinned at what it runs")
	s.wavefront = s.Wavefront(wavefrontv1.ModeEnforce)
	s.wavefront.Name = "fleet"
	s.wavefront.Spec.Poll.Interval = &metav1.Duration{Duration: 5 * time.Second}
	if err := s.Env().Client().Create(ctx, s.wavefront); err != nil {
		return fmt.Errorf("failed to create Wavefront %q: %w", s.wavefront.Name, err)
	}
	go s.view.follow(ctx, s.Env().Client(), s.wavefront.Name)
	return s.awaitPhase(ctx, wavefrontv1.PhaseQuiescent)
}

func (s *story) leafFirst(ctx context.Context) error {
	s.view.headline("2. Commits to every source, pushed leaf first and root last: they are admitted root first")
	commits, err := s.push(ctx, "shop", "web", "apps", "worker", "api", "cache", "database")
	if err != nil {
		return err
	}
	return s.awaitRollout(ctx, commits)
}

func (s *story) breakIt(ctx context.Context) error {
	s.view.headline("3. A broken commit to api, and good ones to shop, web and worker")
	broken, err := s.Push(ctx, "api", testfleet.Release{Fail: true})
	if err != nil {
		return err
	}
	s.view.pushed("api", broken, "broken")
	if err := s.AwaitPinned(ctx, "api", broken); err != nil {
		return err
	}
	waiting, err := s.push(ctx, "shop", "web")
	if err != nil {
		return err
	}
	rolling, err := s.push(ctx, "worker")
	if err != nil {
		return err
	}
	if err := s.AwaitApplied(ctx, "worker", rolling["worker"]); err != nil {
		return err
	}
	// Each names the nearest that it waits for: web the broken api, shop web.
	if err := s.awaitBlocked(ctx, map[string]string{"web": "api", "shop": "web"}); err != nil {
		return err
	}
	for _, name := range []string{"shop", "web"} {
		_, moved := s.timeline.First(testfleet.Pinned(name, waiting[name]))
		s.claim(!moved, "%s moved although api is broken", name)
	}
	s.rollouts = append(s.rollouts, waiting, rolling)
	return nil
}

func (s *story) fixIt(ctx context.Context) error {
	s.view.headline("4. The fix: the subtree drains, in order")
	waiting := s.rollouts[len(s.rollouts)-2]
	commits, err := s.push(ctx, "api")
	if err != nil {
		return err
	}
	for source, commit := range waiting {
		commits[source] = commit
	}
	return s.awaitRollout(ctx, commits)
}

func (s *story) releaseSet(ctx context.Context) error {
	s.view.headline("5. The release set")
	list := &sourcev1.GitRepositoryList{}
	if err := s.Env().Client().List(ctx, list, client.InNamespace(s.Namespace()),
		client.MatchingLabels{wavefrontv1.ManagedLabel: "true"}); err != nil {
		return fmt.Errorf("failed to list GitRepositories: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b sourcev1.GitRepository) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	s.view.releaseSet(list.Items)
	for i := range list.Items {
		g := &list.Items[i]
		s.claim(testfleet.PinOf(g) == testfleet.ArtifactOf(g), "%s is not at its pin", g.Name)
	}
	return nil
}

// push commits to the nodes, in that order, and returns the commit of each source.
func (s *story) push(ctx context.Context, names ...string) (map[string]string, error) {
	commits := map[string]string{}
	for _, name := range names {
		node, _ := s.Node(name)
		commit, err := s.Push(ctx, name, testfleet.Release{Delay: 500 * time.Millisecond})
		if err != nil {
			return nil, err
		}
		s.view.pushed(node.Source, commit, "")
		commits[node.Source] = commit
	}
	return commits, nil
}

// awaitRollout waits until every commit is pinned and the fleet is quiet.
func (s *story) awaitRollout(ctx context.Context, commits map[string]string) error {
	s.rollouts = append(s.rollouts, commits)
	for source, commit := range commits {
		if err := s.AwaitPinned(ctx, source, commit); err != nil {
			return err
		}
	}
	return s.awaitPhase(ctx, wavefrontv1.PhaseQuiescent)
}

func (s *story) awaitPhase(ctx context.Context, phase wavefrontv1.Phase) error {
	return s.await(ctx, func(wf *wavefrontv1.Wavefront) bool {
		return wf.Status.Phase == phase && wf.Status.Nodes != nil && wf.Status.Nodes.Observed == len(nodes)
	})
}

// awaitBlocked waits until the fleet is Blocked and the status names, for each
// node, the ancestor that it waits for.
func (s *story) awaitBlocked(ctx context.Context, want map[string]string) error {
	return s.await(ctx, func(wf *wavefrontv1.Wavefront) bool {
		found := 0
		for _, b := range wf.Status.Blocked {
			if b.Ancestor != nil && want[b.Node.Name] == b.Ancestor.Name {
				found++
			}
		}
		return found == len(want) && wf.Status.Phase == wavefrontv1.PhaseBlocked
	})
}

func (s *story) await(ctx context.Context, condition func(*wavefrontv1.Wavefront) bool) error {
	_, err := testfleet.Await(ctx, s.Env().Client(), &wavefrontv1.WavefrontList{},
		client.ObjectKeyFromObject(s.wavefront), condition)
	return err
}

// claim notes a failure unless it is true.
func (s *story) claim(ok bool, format string, args ...any) {
	if !ok {
		s.failures = append(s.failures, fmt.Errorf(format, args...))
	}
}

// verdict checks, from everything that the API server stored, that nothing moved
// before what it depends on.
func (s *story) verdict() error {
	s.timeline.Close()
	pins, moves := 0, 0
	for _, commits := range s.rollouts {
		moves += len(commits)
		if err := s.timeline.CheckOrder(commits); err != nil {
			s.failures = append(s.failures, err)
		}
	}
	seen := map[string]string{}
	for _, e := range s.timeline.Entries() {
		if e.Kind == sourcev1.GitRepositoryKind && e.Pin != "" && seen[e.Name] != e.Pin {
			seen[e.Name] = e.Pin
			pins++
		}
	}
	if err := errors.Join(s.failures...); err != nil {
		return fmt.Errorf("the rollout was out of order: %w", err)
	}
	s.view.headline("In order: %d pins written; %d admissions checked against the writes that the API server stored,", pins, moves)
	s.view.say("none of them came before its ancestors were ready at theirs")
	return nil
}
