// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
)

func event(change func(*eventv1.Event)) eventv1.Event {
	e := eventv1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: "source.toolkit.fluxcd.io/v1", Kind: "GitRepository", Namespace: "apps", Name: "db"},
		Severity:       eventv1.EventSeverityInfo, Message: "advanced", Reason: "PinAdvanced", Action: "Pin", ReportingController: "test",
		Metadata: map[string]string{
			"source.toolkit.fluxcd.io/token": "1", "event.toolkit.fluxcd.io/cluster": "one",
			"bare": "x", "kustomize.toolkit.fluxcd.io/other": "x", "source.toolkit.fluxcd.io/digest": "x",
		},
	}
	if change != nil {
		change(&e)
	}
	return e
}

func send(g *WithT, r *Receiver, e eventv1.Event) int {
	body, err := json.Marshal(e)
	g.Expect(err).NotTo(HaveOccurred())
	resp, err := http.Post(r.URL(), "application/json", bytes.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Body.Close()).To(Succeed())
	return resp.StatusCode
}

func TestReceiverAppliesTheRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		second     func(*eventv1.Event)
		wantStatus int
		want       func(r *Receiver) any
	}{
		{"the same again", nil, 429, func(r *Receiver) any { return r.Duplicates() }},
		{"another reason alone is a duplicate", func(e *eventv1.Event) { e.Reason = "Blocked" }, 429, func(r *Receiver) any { return r.Duplicates() }},
		{"another severity alone is a duplicate", func(e *eventv1.Event) { e.Severity = "error" }, 429, func(r *Receiver) any { return r.Duplicates() }},
		{
			"a token without the prefix does not count", func(e *eventv1.Event) { e.Metadata["token"] = "2" },
			429, func(r *Receiver) any { return r.Duplicates() },
		},
		{
			"a kind that no Alert selects is accepted and discarded", func(e *eventv1.Event) { e.InvolvedObject.Kind = "Wavefront" },
			202, func(r *Receiver) any { return r.Discarded() },
		},
		{"no namespace", func(e *eventv1.Event) { e.InvolvedObject.Namespace = "" }, 400, func(r *Receiver) any { return r.Invalid() }},
		{"no action", func(e *eventv1.Event) { e.Action = "" }, 400, func(r *Receiver) any { return r.Invalid() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := New()
			defer r.Close()
			g.Expect(send(g, r, event(nil))).To(Equal(202))
			g.Expect(send(g, r, event(tt.second))).To(Equal(tt.wantStatus))
			g.Expect(tt.want(r)).To(HaveLen(1))
			g.Expect(r.Delivered()).To(HaveLen(1))
			g.Expect(r.Delivered()[0].Metadata).To(Equal(map[string]string{"token": "1", "cluster": "one"}))
		})
	}
}

func TestAnotherTokenIsAnotherEvent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := New("Wavefront", "GitRepository")
	defer r.Close()
	g.Expect(send(g, r, event(nil))).To(Equal(202))
	g.Expect(send(g, r, event(func(e *eventv1.Event) { e.Metadata["source.toolkit.fluxcd.io/token"] = "2" }))).To(Equal(202))
	g.Expect(r.Delivered()).To(HaveLen(2))
	g.Expect(r.Delivered()[0].String()).To(Equal("GitRepository/db PinAdvanced"))
}

// TestKindsAreThoseOfTheCRD reads the closed list from notification-controller's
// own definition.
func TestKindsAreThoseOfTheCRD(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files, err := filepath.Glob("../env/crds/*alerts.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(1))
	content, err := os.ReadFile(files[0])
	g.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.Unmarshal(content, crd)).To(Succeed())
	for _, v := range crd.Spec.Versions {
		schema := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["eventSources"].Items.Schema.Properties["kind"]
		var kinds []string
		for _, raw := range schema.Enum {
			var kind string
			g.Expect(json.Unmarshal(raw.Raw, &kind)).To(Succeed())
			kinds = append(kinds, kind)
		}
		g.Expect(Kinds).To(ConsistOf(kinds), v.Name)
	}
}
