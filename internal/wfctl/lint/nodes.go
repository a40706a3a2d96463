// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

var nodeChecks = []Check{
	{"unmanaged-source", picture.Error, "selected nodes whose GitRepository lacks the managed label: they float", unmanagedSource},
	{"nothing-selected", picture.Warning, "a selector that matches no Kustomization", nothingSelected},
	{"no-health", picture.Warning, "pinned nodes without wait or healthChecks: settled then means applied, not healthy", noHealth},
	{"unsequenced-source", picture.Warning, "selected nodes built from an OCIRepository, Bucket or ExternalArtifact", unsequencedSource},
	{"remote-cluster", picture.Warning, "nodes with spec.kubeConfig: HelmReleases that they deploy elsewhere can't be seen", remoteCluster},
	{"ready-expr", picture.Info, "dependsOn with readyExpr: it tunes Flux's own gate only", readyExpr},
	{"substitute-from", picture.Info, "postBuild.substituteFrom: its content is invisible to the gate", substituteFrom},
}

func nothingSelected(f *Fleet, report report) {
	if len(f.Read.Kustomizations) > 0 && len(selected(f)) == 0 {
		report(picture.Ref{Kind: wavefrontv1.WavefrontKind, Name: f.Wavefront.Name},
			fmt.Sprintf("spec.nodes.selector matches none of %d Kustomizations: nothing is ordered", len(f.Read.Kustomizations)),
			"label the Kustomizations as the selector says, or correct it")
	}
}

// selected are the Kustomizations that the Wavefront's selector matches.
func selected(f *Fleet) []*kustomizev1.Kustomization {
	selector, err := cluster.Selector(f.Wavefront)
	if err != nil {
		return nil
	}
	return matching(f, selector)
}

func matching(f *Fleet, selector labels.Selector) []*kustomizev1.Kustomization {
	var out []*kustomizev1.Kustomization
	for _, k := range f.Read.Kustomizations {
		if selector.Matches(labels.Set(k.Labels)) {
			out = append(out, k)
		}
	}
	return out
}

func nodeRef(k *kustomizev1.Kustomization) picture.Ref {
	return picture.Ref{Kind: kustomizev1.KustomizationKind, Namespace: k.Namespace, Name: k.Name}
}

func unmanagedSource(f *Fleet, report report) {
	for _, k := range selected(f) {
		id := cluster.Node(k, f.Read.NoCrossNamespaceRefs).Source
		if id.IsZero() {
			continue
		}
		g := f.Read.GitRepository(id)
		switch {
		case g == nil:
			report(nodeRef(k), fmt.Sprintf("its source %s does not exist", id), "create it, or correct spec.sourceRef in Git")
		case !cluster.IsManaged(g):
			report(nodeRef(k), fmt.Sprintf("it is selected, but its source %s lacks the managed label: it floats, out of order", id),
				"label the GitRepository wavefront.as-code.io/managed: \"true\" in Git as well")
		}
	}
}

func noHealth(f *Fleet, report report) {
	f.pinnedNodes(func(n fleet.NodeResult, k *kustomizev1.Kustomization) {
		if !k.Spec.Wait && len(k.Spec.HealthChecks) == 0 {
			report(ref(n.ID), "without wait or healthChecks it is Ready as soon as it is applied, so what depends on it moves before it is healthy",
				"set spec.wait: true (or spec.healthChecks) in Git")
		}
	})
}

func unsequencedSource(f *Fleet, report report) {
	for _, k := range selected(f) {
		if other := cluster.Node(k, f.Read.NoCrossNamespaceRefs).OtherSource; other != "" {
			report(nodeRef(k), fmt.Sprintf("it is built from %s, which is not ordered yet: it is a gate, and updates as they arrive", other),
				"build it from a GitRepository, or accept that it only counts by its health")
		}
	}
}

func remoteCluster(f *Fleet, report report) {
	f.pinnedNodes(func(n fleet.NodeResult, k *kustomizev1.Kustomization) {
		if k.Spec.KubeConfig != nil {
			report(ref(n.ID), "spec.kubeConfig deploys to another cluster: charts of HelmReleases there are not seen, only the Kustomization's own health counts",
				"set spec.wait: true, and do not let it deploy HelmReleases that must be waited for")
		}
	})
}

func readyExpr(f *Fleet, report report) {
	f.nodes(func(n fleet.NodeResult, k *kustomizev1.Kustomization) {
		for _, d := range k.Spec.DependsOn {
			if d.ReadyExpr != "" {
				report(ref(n.ID), fmt.Sprintf("dependsOn %s has a readyExpr: Flux obeys it when it applies, the order of updates asks for settled whatever it says", d.Name),
					"nothing, if that is meant; otherwise let the dependency's own health say when it is ready")
			}
		}
	})
}

func substituteFrom(f *Fleet, report report) {
	f.pinnedNodes(func(n fleet.NodeResult, k *kustomizev1.Kustomization) {
		if k.Spec.PostBuild != nil && len(k.Spec.PostBuild.SubstituteFrom) > 0 {
			report(ref(n.ID), "postBuild.substituteFrom takes values from ConfigMaps or Secrets: they change what is deployed without a commit, ungated",
				"render the values in the repository where the order of their changes matters")
		}
	})
}
