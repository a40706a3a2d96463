// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/isometry/wavefront-controller/internal/cluster"
	"github.com/isometry/wavefront-controller/internal/fleet"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

var otherChecks = []Check{
	{"automation-checkout", picture.Error, "ImageUpdateAutomations without spec.git.checkout.ref on a managed source: they push from the pinned, older commit", automationCheckout},
	{"receiver", picture.Info, "Receivers on pinned sources: a useful trigger, at the price of a clone", receivers},
	{"remote-bases", picture.Info, "said once: remote bases of a kustomization.yaml can't be seen from the cluster", remoteBases},
	{"unread", picture.Warning, "kinds that could not be read, so that their checks did not run", unread},
}

func automationCheckout(f *Fleet, report report) {
	for _, a := range f.Automations {
		id := automationSource(a)
		if !f.inScope(id) {
			continue
		}
		if _, found, _ := unstructured.NestedMap(a.Object, "spec", "git", "checkout", "ref"); !found {
			report(picture.Ref{Kind: a.GetKind(), Namespace: a.GetNamespace(), Name: a.GetName()},
				fmt.Sprintf("without spec.git.checkout.ref it edits and pushes from the commit that %s is pinned at, an older one", id),
				"set spec.git.checkout.ref.branch in Git")
		}
	}
}

func automationSource(a unstructured.Unstructured) fleet.ID {
	kind, _, _ := unstructured.NestedString(a.Object, "spec", "sourceRef", "kind")
	name, _, _ := unstructured.NestedString(a.Object, "spec", "sourceRef", "name")
	namespace, _, _ := unstructured.NestedString(a.Object, "spec", "sourceRef", "namespace")
	return fleet.ID{Kind: or(kind, sourcev1.GitRepositoryKind), Namespace: or(namespace, a.GetNamespace()), Name: name}
}

func receivers(f *Fleet, report report) {
	for _, r := range f.Receivers {
		for _, res := range r.Spec.Resources {
			id := cluster.GitRepositoryID(or(res.Namespace, r.Namespace), res.Name)
			if res.Kind != sourcev1.GitRepositoryKind || !f.inScope(id) && res.Name != "*" {
				continue
			}
			report(picture.Ref{Kind: notificationv1.ReceiverKind, Namespace: r.Namespace, Name: r.Name},
				fmt.Sprintf("it triggers %s/%s: the controller lists that source at once, and source-controller clones it once although the pin did not change", id.Namespace, id.Name),
				"nothing, if pushes are rare; otherwise remove the Receiver and let the poll interval do the work")
		}
	}
}

func remoteBases(f *Fleet, report report) {
	if len(f.Evaluation.Sources) == 0 {
		return
	}
	report(self(f), "remote bases in a kustomization.yaml (https://…, ?ref=main) are fetched when Flux builds: they can't be seen from here, and change what is deployed without a commit",
		"search the repositories for remote resources, and vendor them or pin them to a commit")
}

func unread(f *Fleet, report report) {
	for _, kind := range slices.Sorted(maps.Keys(f.Unread)) {
		report(self(f), fmt.Sprintf("%s could not be read, so nothing is said of them: %s", kind, f.Unread[kind]),
			"ask for the ClusterRole wavefront-wfctl-derive")
	}
}
