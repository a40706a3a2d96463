// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func ref(name string) Ref { return Ref{Kind: "Kustomization", Namespace: "apps", Name: name} }

func TestRead(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: wfctl.wavefront.as-code.io/v1\nkind: Snapshot\n"
	tests := []struct{ name, in, err string }{
		{"good", head + "taken: 2026-01-02T03:04:05Z\nwavefront: {name: fleet}\n", ""},
		{"good JSON", `{"apiVersion":"wfctl.wavefront.as-code.io/v1","kind":"Snapshot","taken":"2026-01-02T03:04:05Z","wavefront":{"name":"fleet"}}`, ""},
		{"empty", "", "expected"},
		{"another kind", "apiVersion: v1\nkind: ConfigMap\n", "unknown field|expected"},
		{"unknown field", head + "surprise: 1\n", "surprise"},
		{"unknown field in JSON", `{"surprise":1}`, "surprise"},
		{"no name", head + "taken: 2026-01-02T03:04:05Z\n", "wavefront.name"},
		{"no yaml", "\x00\x01{[", "failed to parse"},
		{"wrong type", head + "nodes: 7\n", "failed to parse"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p, err := Read(strings.NewReader(tt.in))
			if tt.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(p.Replayed).To(BeTrue())
				return
			}
			g.Expect(err).To(MatchError(ErrNotSnapshot))
			g.Expect(err.Error()).To(MatchRegexp(tt.err))
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("apiVersion: wfctl.wavefront.as-code.io/v1\nkind: Snapshot\ntaken: 2026-01-02T03:04:05Z\nwavefront: {name: fleet}\nnodes: [{name: a, wave: -5}]\n")
	f.Fuzz(func(_ *testing.T, in string) { _, _ = Read(strings.NewReader(in)) })
}

func TestCycles(t *testing.T) {
	t.Parallel()
	node := func(name string, dependsOn ...string) Node {
		n := Node{Ref: ref(name), Wave: -1}
		for _, d := range dependsOn {
			n.DependsOn = append(n.DependsOn, ref(d))
		}
		return n
	}
	tests := []struct {
		name  string
		nodes []Node
		want  [][]Ref
	}{
		{"none", []Node{{Ref: ref("a"), DependsOn: []Ref{ref("a")}}}, nil},
		{"itself", []Node{node("a", "a")}, [][]Ref{{ref("a"), ref("a")}}},
		{"two, and one behind", []Node{node("a", "b"), node("b", "a"), node("c", "b")}, [][]Ref{{ref("a"), ref("b"), ref("a")}}},
		{"two cycles", []Node{node("a", "a"), node("b", "c"), node("c", "b", "gone")}, [][]Ref{{ref("a"), ref("a")}, {ref("b"), ref("c"), ref("b")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(cyclesIn(tt.nodes)).To(Equal(tt.want))
		})
	}
}

// TestEvents: events are chosen by their objects and their reporter, and what is
// told twice is shown once.
func TestEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(eventsv1.AddToScheme(scheme)).To(Succeed())
	wavefront := func(name string) *corev1.ObjectReference {
		return &corev1.ObjectReference{Kind: "Wavefront", Name: name}
	}
	source := &corev1.ObjectReference{Kind: "GitRepository", Namespace: "apps", Name: "app"}
	kustomization := &corev1.ObjectReference{Kind: "Kustomization", Namespace: "apps", Name: "app"}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for i, e := range []struct {
		reporter           string
		regarding, related *corev1.ObjectReference
	}{
		{"wavefront-controller", wavefront("fleet"), source},        // shown
		{"wavefront-controller", source, wavefront("fleet")},        // the copy
		{"wavefront-controller", kustomization, wavefront("fleet")}, // shown
		{"wavefront-controller", wavefront("other"), source},
		{"wavefront-controller", kustomization, wavefront("other")},
		{"wavefront-controller", source, nil},
		{"wfctl", wavefront("fleet"), nil}, // shown
		{"kustomize-controller", kustomization, wavefront("fleet")},
	} {
		builder = builder.WithObjects(event(i, e.reporter, e.regarding, e.related))
	}
	got, err := Events(t.Context(), builder.Build(), "fleet")
	g.Expect(err).NotTo(HaveOccurred())
	var about []string
	for _, e := range got {
		about = append(about, e.Reporter+" "+e.About().String())
	}
	g.Expect(about).To(ConsistOf("wavefront-controller GitRepository/apps/app", "wavefront-controller Kustomization/apps/app", "wfctl Wavefront/fleet"))
}

func event(i int, reporter string, regarding, related *corev1.ObjectReference) *eventsv1.Event {
	e := &eventsv1.Event{ReportingController: reporter, Regarding: *regarding, Related: related}
	e.Namespace, e.Name = "default", fmt.Sprint(i)
	return e
}
