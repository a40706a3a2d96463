// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package testfleet

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/isometry/wavefront-controller/tests/env"
)

// workloadGVK is the kind that stands for what a node deploys. Its status begins with
// observedGeneration -1, so that it is never taken for ready before the operator has
// seen it.
var workloadGVK = schema.GroupVersionKind{Group: "testfleet.wavefront.as-code.io", Version: "v1", Kind: "Workload"}

//go:embed workload-crd.yaml
var workloadCRD []byte

// installWorkloads installs the CRD of Workload.
func installWorkloads(ctx context.Context, e *env.Env) error {
	objects, err := env.Decode(workloadCRD)
	if err != nil {
		return err
	}
	return e.ApplyCRDs(ctx, objects...)
}

// workloadManifest renders a node's workload.
func workloadManifest(namespace, name string, release Release) string {
	if release.Invalid {
		return "kind: [this is no manifest\n"
	}
	return fmt.Sprintf(`apiVersion: %s
kind: %s
metadata:
  namespace: %s
  name: %s
spec:
  version: %s
  delay: %s
  fail: %t
`, workloadGVK.GroupVersion(), workloadGVK.Kind, namespace, name,
		strconv.Quote(release.Version), strconv.Quote(release.Delay.String()), release.Fail)
}
