// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

// Entry is one write to a GitRepository or a Kustomization, as the API server stored
// it.
type Entry struct {
	// Revision is the object's resourceVersion: etcd's own counter, which orders the
	// writes to all objects.
	Revision uint64
	// Seen is when the write was heard of.
	Seen time.Time
	// Kind is GitRepository or Kustomization, Name the object's name.
	Kind, Name string
	// Deleted tells the object's end.
	Deleted bool

	// Pin, Artifact (commits) and AdmittedAt (the annotation) are a GitRepository's.
	Pin, Artifact, AdmittedAt string
	// Attempted and Applied (commits) are a Kustomization's.
	Attempted, Applied string
	// Ready tells the condition Ready True, about the present generation.
	Ready bool
}

// Timeline is every write to the sources and nodes of a fleet since it was begun. The
// watch it comes from merges nothing, so what is not in it did not happen. Safe for
// concurrent use.
type Timeline struct {
	fleet  *Fleet
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	entries []Entry
	changed chan struct{} // closed and replaced at every entry
	observe func(Entry)
}

// Record begins a timeline; its first entries are the objects as they are. Each entry
// is also reported to observe, unless that is nil. Close ends it; so does the end of
// ctx.
func (f *Fleet) Record(ctx context.Context, observe func(Entry)) (*Timeline, error) {
	ctx, cancel := context.WithCancel(ctx)
	t := &Timeline{fleet: f, cancel: cancel, changed: make(chan struct{}), observe: observe}
	for _, list := range []client.ObjectList{&sourcev1.GitRepositoryList{}, &kustomizev1.KustomizationList{}} {
		if err := t.record(ctx, list); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// record takes the objects as they are, and then every change.
func (t *Timeline) record(ctx context.Context, list client.ObjectList) error {
	c := t.fleet.env.Client()
	if err := c.List(ctx, list, client.InNamespace(t.fleet.namespace)); err != nil {
		return fmt.Errorf("failed to list %T: %w", list, err)
	}
	err := apimeta.EachListItem(list, func(object runtime.Object) error {
		t.add(watch.Added, object.(client.Object))
		return nil
	})
	if err != nil {
		return err
	}
	s := scope{list: list, namespace: t.fleet.namespace, from: list.GetResourceVersion()}
	t.done.Go(func() {
		if err := watchEach(ctx, c, s, t.add); ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "testfleet: the timeline of %q ends here: %v\n", t.fleet.namespace, err)
		}
	})
	return nil
}

// Close ends the recording; what was recorded stays.
func (t *Timeline) Close() {
	t.cancel()
	t.done.Wait()
}

// add records a watch event; it never ends the watch.
func (t *Timeline) add(event watch.EventType, object client.Object) bool {
	entry, ok := entryOf(object)
	if !ok {
		return false
	}
	entry.Deleted = event == watch.Deleted
	t.mu.Lock()
	t.entries = append(t.entries, entry)
	close(t.changed)
	t.changed = make(chan struct{})
	t.mu.Unlock()
	if t.observe != nil {
		t.observe(entry)
	}
	return false
}

func entryOf(object client.Object) (Entry, bool) {
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return Entry{}, false
	}
	entry := Entry{Revision: revision, Seen: time.Now(), Name: object.GetName()}
	switch object := object.(type) {
	case *sourcev1.GitRepository:
		entry.Kind = sourcev1.GitRepositoryKind
		entry.Pin = PinOf(object)
		entry.Artifact = ArtifactOf(object)
		entry.AdmittedAt = object.Annotations[wavefrontv1.AdmittedAtAnnotation]
		entry.Ready = isReady(object.Status.Conditions, object.Generation)
	case *kustomizev1.Kustomization:
		entry.Kind = kustomizev1.KustomizationKind
		entry.Attempted = CommitOf(object.Status.LastAttemptedRevision)
		entry.Applied = CommitOf(object.Status.LastAppliedRevision)
		entry.Ready = IsReady(object)
	default:
		return Entry{}, false
	}
	return entry, true
}

// Entries returns a copy of what was recorded. Entries of one kind are in order; sort
// by Revision to have all in order.
func (t *Timeline) Entries() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Entry(nil), t.entries...)
}

// Await waits until an entry that matches was recorded, and returns the first one.
func (t *Timeline) Await(ctx context.Context, match func(Entry) bool) (Entry, error) {
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if entry, ok := t.First(match); ok {
			return entry, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Entry{}, fmt.Errorf("failed to wait for an entry of the timeline: %w", ctx.Err())
		}
	}
}

// First returns the entry with the lowest revision among those that match.
func (t *Timeline) First(match func(Entry) bool) (first Entry, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, entry := range t.entries {
		if match(entry) && (!found || entry.Revision < first.Revision) {
			first, found = entry, true
		}
	}
	return first, found
}

// Pinned matches a source that carries a commit as its pin.
func Pinned(source, commit string) func(Entry) bool {
	return func(e Entry) bool {
		return e.Kind == sourcev1.GitRepositoryKind && e.Name == source && e.Pin == commit
	}
}

// Applied matches a node that is Ready with a commit applied.
func Applied(node, commit string) func(Entry) bool {
	return func(e Entry) bool {
		return e.Kind == kustomizev1.KustomizationKind && e.Name == node && e.Applied == commit && e.Ready
	}
}

// ErrOrder says that a source moved before an ancestor had converged.
var ErrOrder = errors.New("moved out of order")

// CheckOrder proves a rollout, given the commit that each source was moved to: every
// one of them was pinned, and its nodes were Ready with it, and none was pinned before
// the ancestors of all its managed nodes, on other sources of the rollout, were Ready
// at theirs.
// Nodes of one source don't wait for each other.
func (t *Timeline) CheckOrder(commits map[string]string) error {
	var errs []error
	for _, node := range t.fleet.Nodes() {
		commit, moved := commits[node.Source]
		if !moved {
			continue
		}
		pinned, ok := t.First(Pinned(node.Source, commit))
		if !ok {
			errs = append(errs, fmt.Errorf("source %q was never pinned at %s", node.Source, commit))
			continue
		}
		if _, ok := t.First(Applied(node.Name, commit)); !ok {
			errs = append(errs, fmt.Errorf("node %q was never ready at %s", node.Name, commit))
		}
		if node.Gate {
			continue
		}
		for _, ancestor := range t.fleet.Ancestors(node.Name) {
			errs = append(errs, t.checkEdge(node, pinned, ancestor, commits))
		}
	}
	return errors.Join(errs...)
}

func (t *Timeline) checkEdge(node Node, pinned Entry, ancestor Node, commits map[string]string) error {
	commit, moved := commits[ancestor.Source]
	if !moved || ancestor.Source == node.Source {
		return nil
	}
	applied, ok := t.First(Applied(ancestor.Name, commit))
	if !ok {
		return fmt.Errorf("%q: %w: pinned at revision %d, while ancestor %q was never ready at %s",
			node.Source, ErrOrder, pinned.Revision, ancestor.Name, commit)
	}
	if applied.Revision > pinned.Revision {
		return fmt.Errorf("%q: %w: pinned at revision %d, before ancestor %q was ready at revision %d",
			node.Source, ErrOrder, pinned.Revision, ancestor.Name, applied.Revision)
	}
	return nil
}

// Ancestors are the nodes of the fleet that a node depends on, directly or not, by
// name.
func (f *Fleet) Ancestors(name string) []Node {
	seen := map[string]bool{name: true}
	var ancestors []Node
	var visit func(string)
	visit = func(name string) {
		node, _ := f.Node(name)
		for _, parent := range node.DependsOn {
			if seen[parent] {
				continue
			}
			seen[parent] = true
			if ancestor, ok := f.Node(parent); ok {
				ancestors = append(ancestors, ancestor)
			}
			visit(parent)
		}
	}
	visit(name)
	return ancestors
}
