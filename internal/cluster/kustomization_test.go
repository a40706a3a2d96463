// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

func TestNode(t *testing.T) {
	t.Parallel()

	from := func(kind, namespace, name string) func(*kustomizev1.Kustomization) {
		return func(k *kustomizev1.Kustomization) {
			k.Spec.SourceRef = kustomizev1.CrossNamespaceSourceReference{Kind: kind, Namespace: namespace, Name: name}
		}
	}
	plain := fleet.Node{
		ID: KustomizationID("apps", "app"), UID: "apps/app", Generation: 3,
		Source: GitRepositoryID("apps", "repo"), Timeout: 10*time.Minute - 30*time.Second,
	}
	tests := []struct {
		name        string
		change      func(*kustomizev1.Kustomization)
		noCrossRefs bool
		expected    func(*fleet.Node)
	}{
		{name: "as it is", change: func(*kustomizev1.Kustomization) {}, expected: func(*fleet.Node) {}},
		{
			name:     "a source in another namespace",
			change:   from("GitRepository", "flux-system", "repo"),
			expected: func(n *fleet.Node) { n.Source = GitRepositoryID("flux-system", "repo") },
		},
		{
			name:        "which kustomize-controller refuses",
			change:      from("GitRepository", "flux-system", "repo"),
			noCrossRefs: true,
			expected: func(n *fleet.Node) {
				n.Source = fleet.ID{}
				n.OtherSource = "GitRepository/flux-system/repo"
				n.Refused = []fleet.ID{GitRepositoryID("flux-system", "repo")}
			},
		},
		{
			name:        "its own namespace by name is no other namespace",
			change:      from("GitRepository", "apps", "repo"),
			noCrossRefs: true,
			expected:    func(*fleet.Node) {},
		},
		{
			name:   "a kind that is not sequenced",
			change: from("OCIRepository", "", "image"),
			expected: func(n *fleet.Node) {
				n.Source, n.OtherSource = fleet.ID{}, "OCIRepository/apps/image"
			},
		},
		{
			name: "edges, also those into other namespaces that kustomize-controller waits for whatever its flags",
			change: func(k *kustomizev1.Kustomization) {
				k.Spec.DependsOn = []kustomizev1.DependencyReference{{Name: "db"}, {Namespace: "infra", Name: "net"}}
			},
			noCrossRefs: true,
			expected: func(n *fleet.Node) {
				n.DependsOn = []fleet.ID{KustomizationID("apps", "db"), KustomizationID("infra", "net")}
			},
		},
		{
			name:     "a timeout of its own",
			change:   func(k *kustomizev1.Kustomization) { k.Spec.Timeout = &metav1.Duration{Duration: time.Hour} },
			expected: func(n *fleet.Node) { n.Timeout = time.Hour },
		},
		{
			name: "status",
			change: func(k *kustomizev1.Kustomization) {
				k.Spec.Suspend = true
				k.Status = kustomizev1.KustomizationStatus{
					ObservedGeneration: 2, Conditions: readyCondition(metav1.ConditionFalse),
					LastAppliedRevision: "main@sha1:" + commitA, LastAttemptedRevision: "refs/heads/main@sha1:" + commitB,
					History: fluxmeta.History{
						{LastReconciledStatus: fluxmeta.ReconciliationSucceededReason, LastReconciled: metav1.NewTime(base), Metadata: map[string]string{"revision": "sha1:" + commitA}},
						{LastReconciledStatus: fluxmeta.HealthCheckFailedReason},
					},
				}
			},
			expected: func(n *fleet.Node) {
				n.Suspended, n.ObservedGeneration = true, 2
				n.Ready = fleet.Condition{Status: fleet.False, Reason: "Reason", Message: "message", ObservedGeneration: 2, Since: base}
				n.LastApplied, n.LastAttempted = fleet.Revision(commitA), fleet.Revision(commitB)
				n.Last = &fleet.Reconciliation{Succeeded: true, Revision: fleet.Revision(commitA), At: base}
			},
		},
		{
			name: "a reconciliation that failed, without a revision",
			change: func(k *kustomizev1.Kustomization) {
				k.Status.History = fluxmeta.History{{LastReconciledStatus: fluxmeta.HealthCheckFailedReason, LastReconciled: metav1.NewTime(base)}}
			},
			expected: func(n *fleet.Node) { n.Last = &fleet.Reconciliation{At: base} },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := plain
			tt.expected(&want)
			NewWithT(t).Expect(Node(aKustomization(tt.change), tt.noCrossRefs)).To(Equal(want))
		})
	}
}

// TestReferencesAreBounded: a reference may be of any length, and may not fill the
// status.
func TestReferencesAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	long := strings.Repeat("ü", 1<<20)
	n := Node(aKustomization(func(k *kustomizev1.Kustomization) {
		k.Spec.SourceRef.Name, k.Spec.SourceRef.Namespace = long, long
		k.Spec.DependsOn = []kustomizev1.DependencyReference{{Name: long, Namespace: long}, {Name: strings.Repeat("n", 253)}}
	}), false)
	for _, id := range append(n.DependsOn, n.Source) {
		g.Expect(len(id.String())).To(BeNumerically("<", 600))
		g.Expect(utf8.ValidString(id.String())).To(BeTrue())
	}
	g.Expect(n.DependsOn[1].Name).To(Equal(strings.Repeat("n", 253)), "it may exist")
	g.Expect(n.DependsOn[0].Name).To(HaveSuffix("…"), "it can't exist, and still doesn't")
}
