// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	"github.com/isometry/wavefront-controller/tests/ship/example"
)

const flotillas = example.Namespace

// flotillaNames are those of the example, in the order of their dependencies.
var flotillaNames = example.Flotillas

// exampleFleet is the example applied as it is, with git on loopback.
type exampleFleet struct {
	*site
	teams   map[string]*env.Repository
	cluster env.Files
}

// newExampleFleet installs the controller and has Flux apply the example.
func newExampleFleet(t *testing.T) *exampleFleet {
	t.Helper()
	s := newSite(t)
	s.deploy(t, installer(t, "config/default"))
	return s.exampleFleet(t)
}

// exampleFleet has Flux apply the example, and waits until it did.
func (s *site) exampleFleet(t *testing.T) *exampleFleet {
	t.Helper()
	g := NewWithT(t)
	teams, err := example.Teams(t.Context(), repository(t), s.Git())
	g.Expect(err).NotTo(HaveOccurred())
	cluster, err := example.Cluster(repository(t), s.Git())
	g.Expect(err).NotTo(HaveOccurred())
	fleet := &exampleFleet{site: s, teams: teams, cluster: cluster}
	fleet.bootstrap(t, clusterPath, fleet.cluster)
	for _, name := range flotillaNames {
		fleet.expectKustomization(t, flotillas, name)
	}
	return fleet
}

// deploy applies an installer, as `make deploy` does.
func (s *site) deploy(t *testing.T, installer string) {
	t.Helper()
	g := NewWithT(t)
	objs, err := env.Decode([]byte(installer))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Apply(t.Context(), objs...)).To(Succeed())
}

// setMode changes the mode where the example says to: in Git.
func (f *exampleFleet) setMode(t *testing.T, mode wavefrontv1.Mode) {
	t.Helper()
	f.commit(t, "Switch to "+string(mode), env.Files{
		example.Manifest: strings.Replace(f.cluster[example.Manifest], "mode: Shadow", "mode: "+string(mode), 1),
	})
}

// enforce switches to Enforce and waits until every source is pinned and all is quiet.
func (f *exampleFleet) enforce(t *testing.T) {
	t.Helper()
	f.setMode(t, wavefrontv1.ModeEnforce)
	f.expectWavefront(t, "fleet", func(g Gomega, wavefront *wavefrontv1.Wavefront) {
		g.Expect(wavefront.GetMode()).To(Equal(wavefrontv1.ModeEnforce))
		g.Expect(wavefront.Status.Phase).To(Equal(wavefrontv1.PhaseQuiescent))
		for _, name := range flotillaNames {
			_, manager := f.pin(t.Context(), g, name)
			g.Expect(manager).To(Equal(wavefrontv1.FieldManager))
		}
	})
}

// pushAll pushes to every flotilla, what depends on the others first.
func (f *exampleFleet) pushAll(t *testing.T) map[string]string {
	t.Helper()
	pushed := map[string]string{}
	for i := len(flotillaNames) - 1; i >= 0; i-- {
		pushed[flotillaNames[i]] = f.push(t, flotillaNames[i])
	}
	return pushed
}

// expectRolledOut waits until every flotilla is at its commit and all is quiet.
func (f *exampleFleet) expectRolledOut(t *testing.T, commits map[string]string) {
	t.Helper()
	f.expectWavefront(t, "fleet", func(g Gomega, wavefront *wavefrontv1.Wavefront) {
		for name, commit := range commits {
			pinned, _ := f.pin(t.Context(), g, name)
			g.Expect(pinned).To(Equal(commit), name)
		}
		g.Expect(wavefront.Status.Phase).To(Equal(wavefrontv1.PhaseQuiescent))
	})
}

// push gives a flotilla a new revision, and tells Flux, as a webhook would.
func (f *exampleFleet) push(t *testing.T, name string) string {
	t.Helper()
	const manifest = "deploy/deployment.yaml"
	content := files(t, example.Folder+"/repositories/"+name, "")[manifest]
	commit, err := f.teams[name].Commit(t.Context(), "main", "Scale", env.Files{
		manifest: regexp.MustCompile(`replicas: \d+`).ReplaceAllString(content, "replicas: 3"),
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	f.requestReconcile(t, flotillas, name)
	return commit
}

// pin returns what a flotilla's source is pinned at, and who pinned it.
func (f *exampleFleet) pin(ctx context.Context, g Gomega, name string) (commit, manager string) {
	var source sourcev1.GitRepository
	g.Expect(f.Client().Get(ctx, client.ObjectKey{Namespace: flotillas, Name: name}, &source)).To(Succeed())
	for _, entry := range source.ManagedFields {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:commit"`) {
			manager = entry.Manager
		}
	}
	if source.Spec.Reference != nil {
		commit = source.Spec.Reference.Commit
	}
	return commit, manager
}

// followPins records each change of a pin, in order.
func (f *exampleFleet) followPins(t *testing.T) func() []string {
	t.Helper()
	watcher, err := f.Client().Watch(t.Context(), &sourcev1.GitRepositoryList{}, client.InNamespace(flotillas))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	var moved []string
	go func() {
		pins := map[string]string{}
		for event := range watcher.ResultChan() {
			source, ok := event.Object.(*sourcev1.GitRepository)
			if !ok || event.Type == watch.Deleted || source.Spec.Reference == nil {
				continue
			}
			before, known := pins[source.Name]
			pins[source.Name] = source.Spec.Reference.Commit
			if known && before != source.Spec.Reference.Commit {
				mu.Lock()
				moved = append(moved, source.Name)
				mu.Unlock()
			}
		}
	}()
	t.Cleanup(watcher.Stop)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), moved...)
	}
}

// TestExampleFleet walks the fleet owner's guide: apply the tree, look at Shadow,
// switch to Enforce by a commit, and push in the wrong order.
func TestExampleFleet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fleet := newExampleFleet(t)
	fleet.expectWavefront(t, "fleet", func(g Gomega, wavefront *wavefrontv1.Wavefront) {
		g.Expect(wavefront.GetMode()).To(Equal(wavefrontv1.ModeShadow))
		g.Expect(wavefront.Status.Phase).To(Equal(wavefrontv1.PhaseQuiescent))
		g.Expect(wavefront.Status.Nodes.Pinned).To(Equal(len(flotillaNames)))
		g.Expect(wavefront.Status.Nodes.Gates).To(Equal(1), "the platform")
	})
	for _, name := range flotillaNames {
		commit, _ := fleet.pin(t.Context(), g, name)
		g.Expect(commit).To(BeEmpty(), "Shadow pins nothing")
	}

	fleet.enforce(t)
	moved := fleet.followPins(t)
	fleet.expectRolledOut(t, fleet.pushAll(t))
	g.Expect(moved()).To(Equal(flotillaNames), "pins move in the order of the dependencies, not of the pushes")
}
