// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
)

// Label carries the fleet's namespace on every node, so that the Wavefronts of several
// fleets on one control plane select different nodes.
const Label = "testfleet.wavefront.as-code.io/fleet"

// Fleet is a set of flotillas in one namespace. Safe for concurrent use.
type Fleet struct {
	env       *env.Env
	namespace string
	operator  *operator

	mu      sync.Mutex
	nodes   map[string]Node
	sources map[string]*source
}

// source is a repository and the GitRepository for it.
type source struct {
	repo   *env.Repository
	branch string
}

// New makes an empty fleet in a namespace, which is made when missing. Close ends what
// it runs; so does the end of ctx.
func New(ctx context.Context, e *env.Env, namespace string) (*Fleet, error) {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := e.Client().Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("failed to create namespace %q: %w", namespace, err)
	}
	if err := installCRDs(ctx, e); err != nil {
		return nil, err
	}
	return &Fleet{
		env:       e,
		namespace: namespace,
		operator:  startOperator(ctx, e.Client(), namespace),
		nodes:     map[string]Node{},
		sources:   map[string]*source{},
	}, nil
}

// Close ends the workloads' controller. The objects stay.
func (f *Fleet) Close() { f.operator.close() }

// Env is the control plane that the fleet is on.
func (f *Fleet) Env() *env.Env { return f.env }

// Namespace is where the fleet's objects are.
func (f *Fleet) Namespace() string { return f.namespace }

// Add makes nodes, in any order: a dependency may be added later, or never. A source is
// made with the first node on it, and its first commit holds all the nodes of this call
// that are built from it.
func (f *Fleet) Add(ctx context.Context, nodes ...Node) error {
	bySource := map[string][]Node{}
	for _, node := range nodes {
		node = node.withDefaults()
		if err := f.register(node); err != nil {
			return err
		}
		bySource[node.Source] = append(bySource[node.Source], node)
	}
	for _, name := range slices.Sorted(maps.Keys(bySource)) {
		if err := f.addSource(ctx, name, bySource[name]); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		if err := f.addNode(ctx, node.withDefaults()); err != nil {
			return err
		}
	}
	return nil
}

// addSource makes the repository and GitRepository of nodes, or commits into those that
// are there already.
func (f *Fleet) addSource(ctx context.Context, name string, nodes []Node) error {
	releases := map[string]Release{}
	for _, node := range nodes {
		releases[node.Name] = node.First
	}
	if _, err := f.source(name); err == nil {
		_, err := f.PushSource(ctx, name, releases)
		return err
	}
	repo, err := f.env.Git().Create(ctx, f.namespace+"/"+name)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.sources[name] = &source{repo: repo, branch: nodes[0].Branch}
	f.mu.Unlock()
	if _, err := f.PushSource(ctx, name, releases); err != nil {
		return err
	}
	object := nodes[0].gitRepository(f.namespace, repo.URL())
	if err := f.env.Client().Create(ctx, object); err != nil {
		return fmt.Errorf("failed to create GitRepository \"%s/%s\": %w", f.namespace, name, err)
	}
	return nil
}

func (f *Fleet) addNode(ctx context.Context, node Node) error {
	if err := f.env.Client().Create(ctx, node.kustomization(f.namespace)); err != nil {
		return fmt.Errorf("failed to create Kustomization \"%s/%s\": %w", f.namespace, node.Name, err)
	}
	return nil
}

func (f *Fleet) register(node Node) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.nodes[node.Name]; taken {
		return fmt.Errorf("failed to add node %q: %w", node.Name, os.ErrExist)
	}
	f.nodes[node.Name] = node
	return nil
}

// Node returns a node as it was added, defaults filled in.
func (f *Fleet) Node(name string) (Node, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	node, ok := f.nodes[name]
	return node, ok
}

// Nodes returns all nodes by name.
func (f *Fleet) Nodes() []Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	nodes := make([]Node, 0, len(f.nodes))
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		nodes = append(nodes, f.nodes[name])
	}
	return nodes
}

// ErrUnknown says that the fleet has no such node or source.
var ErrUnknown = errors.New("not in this fleet")

// Repository is the repository of a source.
func (f *Fleet) Repository(sourceName string) (*env.Repository, error) {
	s, err := f.source(sourceName)
	if err != nil {
		return nil, err
	}
	return s.repo, nil
}

func (f *Fleet) source(name string) (*source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sources[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("source %q: %w", name, ErrUnknown)
}

// Wavefront is a Wavefront that selects this fleet's managed nodes, and no others, and
// is named like its namespace. Change it as needed and create it.
func (f *Fleet) Wavefront(mode wavefrontv1.Mode) *wavefrontv1.Wavefront {
	return &wavefrontv1.Wavefront{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: wavefrontv1.WavefrontSpec{
			Mode: mode,
			Nodes: wavefrontv1.NodeSelection{
				Kinds: []wavefrontv1.NodeKind{wavefrontv1.NodeKindKustomization},
				Selector: metav1.LabelSelector{MatchLabels: map[string]string{
					wavefrontv1.ManagedLabel: "true",
					Label:                    f.namespace,
				}},
			},
		},
	}
}
