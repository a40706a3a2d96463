// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api_test shows, on a real API server, what the Wavefront API accepts,
// defaults and refuses.
package api_test

import (
	"encoding/json"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
)

func TestMain(m *testing.M) { os.Exit(env.Main(m, env.Options{NoFlux: true})) }

// decode makes an object of a spec, so that the test sends what a user would.
func decode(g *WithT, name, spec string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal([]byte(spec), &obj.Object)).To(Succeed())
	obj.SetGroupVersionKind(wavefrontv1.GroupVersion.WithKind(wavefrontv1.WavefrontKind))
	obj.SetName(name)
	return obj
}

const validNodes = `
  nodes:
    kinds: [Kustomization]
    selector: {matchLabels: {a: b}}
`

func TestRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec string
		want types.GomegaMatcher
	}{
		{"no spec", `{}`, ContainSubstring("spec: Required value")},
		{"no nodes", `spec: {mode: Shadow}`, ContainSubstring("spec.nodes: Required value")},
		{"no kinds", `spec: {nodes: {selector: {matchLabels: {a: b}}}}`, ContainSubstring("spec.nodes.kinds: Required value")},
		{"empty kinds", `spec: {nodes: {kinds: [], selector: {matchLabels: {a: b}}}}`, ContainSubstring("spec.nodes.kinds in body should have at least 1 items")},
		{"another kind", `spec: {nodes: {kinds: [HelmRelease], selector: {matchLabels: {a: b}}}}`, ContainSubstring("spec.nodes.kinds[0]: Unsupported value: \"HelmRelease\"")},
		{"two kinds", `spec: {nodes: {kinds: [Kustomization, HelmRelease], selector: {matchLabels: {a: b}}}}`, ContainSubstring("spec.nodes.kinds: Too many: 2: must have at most 1 item")},
		{"no selector", `spec: {nodes: {kinds: [Kustomization]}}`, ContainSubstring("spec.nodes.selector: Required value")},
		{"empty selector", `spec: {nodes: {kinds: [Kustomization], selector: {}}}`, ContainSubstring("selector must not be empty: set matchLabels or matchExpressions")},
		{"empty labels", `spec: {nodes: {kinds: [Kustomization], selector: {matchLabels: {}}}}`, ContainSubstring("selector must not be empty")},
		{"unknown operator", `spec: {nodes: {kinds: [Kustomization], selector: {matchExpressions: [{key: a, operator: Gt, values: ["1"]}]}}}`, ContainSubstring("there are no other operators")},
		{"In without values", `spec: {nodes: {kinds: [Kustomization], selector: {matchExpressions: [{key: a, operator: In}]}}}`, ContainSubstring("In and NotIn need values")},
		{"Exists with values", `spec: {nodes: {kinds: [Kustomization], selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}}`, ContainSubstring("Exists and DoesNotExist take none")},
		{"unknown mode", "spec:" + validNodes + "  mode: Audit", ContainSubstring("spec.mode: Unsupported value: \"Audit\": supported values: \"Shadow\", \"Enforce\"")},
		{"unknown release policy", "spec:" + validNodes + "  releasePolicy: Drop", ContainSubstring("spec.releasePolicy: Unsupported value: \"Drop\": supported values: \"Keep\", \"Float\"")},
		{"suspend is no boolean", "spec:" + validNodes + "  suspend: \"yes\"", ContainSubstring("spec.suspend in body must be of type boolean")},
		{"interval too short", "spec:" + validNodes + "  poll: {interval: 4s}", ContainSubstring("interval must be at least 5s")},
		{"interval is no duration", "spec:" + validNodes + "  poll: {interval: soon}", ContainSubstring("spec.poll.interval in body should match")},
		{"interval too long a string", "spec:" + validNodes + "  poll: {interval: 1000000000000000000000000000000000s}", ContainSubstring("spec.poll.interval: Too long")},
		{"no concurrency", "spec:" + validNodes + "  poll: {perHostConcurrency: 0}", ContainSubstring("spec.poll.perHostConcurrency in body should be greater than or equal to 1")},
		{"too much concurrency", "spec:" + validNodes + "  poll: {perHostConcurrency: 65}", ContainSubstring("spec.poll.perHostConcurrency in body should be less than or equal to 64")},
		{"timeout too short", "spec:" + validNodes + "  poll: {timeout: 500ms}", ContainSubstring("timeout must be between 1s and 5m")},
		{"timeout too long", "spec:" + validNodes + "  poll: {timeout: 6m}", ContainSubstring("timeout must be between 1s and 5m")},
		{"replica lag too long", "spec:" + validNodes + "  poll: {replicaLag: 61s}", ContainSubstring("replicaLag must be at most 1m")},
		{"negative replica lag", "spec:" + validNodes + "  poll: {replicaLag: -1s}", ContainSubstring("spec.poll.replicaLag in body should match")},
		{"stale before two intervals", "spec:" + validNodes + "  poll: {interval: 60s, staleAfter: 119s}", ContainSubstring("staleAfter must be at least two intervals")},
		{"stale before two default intervals", "spec:" + validNodes + "  poll: {staleAfter: 2m}", ContainSubstring("staleAfter must be at least two intervals")},
		{"stale is no duration", "spec:" + validNodes + "  poll: {staleAfter: never}", ContainSubstring("spec.poll.staleAfter in body should match")},
	}
	e := env.Shared(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			err := e.Client().Create(t.Context(), decode(g, "refused", tt.spec))
			g.Expect(err).To(MatchError(tt.want))
		})
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec string
	}{
		{"only-what-is-required", "spec:" + validNodes},
		{"everything", `
spec:
  nodes:
    kinds: [Kustomization]
    selector:
      matchLabels: {a: b}
      matchExpressions: [{key: c, operator: NotIn, values: [d]}, {key: e, operator: Exists}]
  mode: Enforce
  suspend: true
  releasePolicy: Float
  poll: {interval: 1h30m, perHostConcurrency: 64, timeout: 5m, replicaLag: 0s, staleAfter: 3h}
`},
		{"the-least", "spec:" + validNodes + "  poll: {interval: 5s, perHostConcurrency: 1, timeout: 1s, replicaLag: 1m, staleAfter: 10s}"},
	}
	e := env.Shared(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(e.Client().Create(t.Context(), decode(g, tt.name, tt.spec))).To(Succeed())
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)

	wf := &wavefrontv1.Wavefront{ObjectMeta: metav1.ObjectMeta{Name: "defaults"}}
	wf.Spec.Nodes = wavefrontv1.NodeSelection{
		Kinds:    []wavefrontv1.NodeKind{wavefrontv1.NodeKindKustomization},
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
	}
	bare := wf.DeepCopy()
	g.Expect(e.Client().Create(t.Context(), wf)).To(Succeed())
	got := &wavefrontv1.Wavefront{}
	g.Expect(e.Client().Get(t.Context(), client.ObjectKeyFromObject(wf), got)).To(Succeed())

	g.Expect(got.Status.ObservedGeneration).To(BeEquivalentTo(-1), "a new object must not look observed")
	// The getters say for an object that never passed a server what the server says.
	g.Expect(got.Spec.Mode).To(Equal(bare.GetMode()))
	g.Expect(got.Spec.ReleasePolicy).To(Equal(bare.GetReleasePolicy()))
	g.Expect(got.Spec.Poll.Interval.Duration).To(Equal(bare.Spec.Poll.GetInterval()))
	g.Expect(got.Spec.Poll.Timeout.Duration).To(Equal(bare.Spec.Poll.GetTimeout()))
	g.Expect(got.Spec.Poll.ReplicaLag.Duration).To(Equal(bare.Spec.Poll.GetReplicaLag()))
	g.Expect(got.Spec.Poll.PerHostConcurrency).To(Equal(bare.Spec.Poll.GetPerHostConcurrency()))
	g.Expect(got.Spec.Poll.StaleAfter).To(BeNil())
	g.Expect(got.Spec.Poll.GetStaleAfter()).To(Equal(wavefrontv1.MinStaleAfter))
}

func TestNamesAndColumns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)

	discover, err := discovery.NewDiscoveryClientForConfig(e.Config())
	g.Expect(err).NotTo(HaveOccurred())
	resources, err := discover.ServerResourcesForGroupVersion(wavefrontv1.GroupVersion.String())
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]metav1.APIResource{}
	for _, r := range resources.APIResources {
		found[r.Name] = r
	}
	g.Expect(found).To(HaveKey("wavefronts/status"))
	g.Expect(found["wavefronts"].ShortNames).To(ConsistOf("wf"))
	g.Expect(found["wavefronts"].Categories).To(ConsistOf("all", "fluxcd"))
	g.Expect(found["wavefronts"].Namespaced).To(BeFalse())

	body, err := discover.RESTClient().Get().AbsPath("/apis", wavefrontv1.GroupVersion.String(), "wavefronts").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	table := &metav1.Table{}
	g.Expect(json.Unmarshal(body, table)).To(Succeed())
	var names []string
	for _, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			names = append(names, c.Name)
		}
	}
	g.Expect(names).To(Equal([]string{"Name", "Mode", "Phase", "Pending", "Blocked", "Ready", "Age"}))
}
