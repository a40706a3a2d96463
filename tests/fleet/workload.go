// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/tests/env"
)

// group is that of the kinds which stand for what a node deploys.
const group = "testfleet.wavefront.as-code.io"

var (
	// workloadGVK is what every node deploys. It is healthy unless SetHealth said
	// otherwise.
	workloadGVK = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Workload"}
	// rolloutGVK goes with the workload while a release takes its time, or fails. Its
	// status begins with observedGeneration -1, so that it is never taken for ready
	// before the operator has seen it.
	//
	// A kind of its own, because kustomize-controller looks at once and then every
	// five seconds: a release that is up at once must be so at the first look.
	rolloutGVK = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Rollout"}
)

//go:embed crds.yaml
var crds []byte

// installCRDs installs the CRDs of Workload and Rollout.
func installCRDs(ctx context.Context, e *env.Env) error {
	objects, err := env.Decode(crds)
	if err != nil {
		return err
	}
	return e.ApplyCRDs(ctx, objects...)
}

// manifest renders what a node deploys.
func manifest(namespace, name string, release Release, held bool) string {
	if release.Invalid {
		return "kind: [this is no manifest\n"
	}
	workload := object(workloadGVK, namespace, name) + fmt.Sprintf("spec:\n  version: %s\n", strconv.Quote(release.Version))
	if release.Delay == 0 && !release.Fail && !held {
		return workload
	}
	return workload + "---\n" + object(rolloutGVK, namespace, name) +
		fmt.Sprintf("spec:\n  version: %s\n  delay: %s\n  fail: %t\n  held: %t\n",
			strconv.Quote(release.Version), strconv.Quote(release.Delay.String()), release.Fail, held)
}

func object(gvk schema.GroupVersionKind, namespace, name string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  namespace: %s\n  name: %s\n",
		gvk.GroupVersion(), gvk.Kind, namespace, name)
}

// SetHealth makes the running workload of a node fail, or recover, without a commit.
// Flux sees it when it next reconciles the node.
func (f *Fleet) SetHealth(ctx context.Context, node string, healthy bool) error {
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(workloadGVK)
	key := client.ObjectKey{Namespace: f.namespace, Name: node}
	if err := f.env.Client().Get(ctx, key, workload); err != nil {
		return fmt.Errorf("failed to get workload %q: %w", key, err)
	}
	workload.Object["status"] = map[string]any{"conditions": conditions(workload.GetGeneration(), !healthy)}
	if err := f.env.Client().Status().Update(ctx, workload); err != nil {
		return fmt.Errorf("failed to set health of workload %q: %w", key, err)
	}
	return nil
}

// Version is what the workload of a node was last told to be.
func (f *Fleet) Version(ctx context.Context, node string) (string, error) {
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(workloadGVK)
	key := client.ObjectKey{Namespace: f.namespace, Name: node}
	if err := f.env.Client().Get(ctx, key, workload); err != nil {
		return "", fmt.Errorf("failed to get workload %q: %w", key, err)
	}
	version, _, err := unstructured.NestedString(workload.Object, "spec", "version")
	return version, err
}
