// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/isometry/wavefront-controller/tests/env"
)

// foreign are groups that the documents mention and that the control plane has no
// definitions of.
var foreign = map[string]bool{
	"fluxcd.controlplane.io":  true,
	"kustomize.config.k8s.io": true,
	"monitoring.coreos.com":   true,
}

// TestManifests has the API server judge every manifest in the documents, without
// storing any, and refuse what has a field that does not exist.
func TestManifests(t *testing.T) {
	t.Parallel()
	e := env.ForTest(t, env.Options{NoFlux: true})
	for _, document := range documents(t) {
		if strings.Contains(document, "charts/") {
			continue
		}
		name, err := filepath.Rel(root, document)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, b := range blocks(read(t, name)) {
			if b.language == "yaml" {
				t.Run(fmt.Sprintf("%s:%d", name, b.line), func(t *testing.T) { judge(t, e, b.content) })
			}
		}
	}
}

// judge parses a block, and has the objects in it applied by a dry run.
func judge(t *testing.T, e *env.Env, content string) {
	t.Helper()
	g := NewWithT(t)
	var any any
	for _, document := range strings.Split(content, "\n---\n") {
		g.Expect(yaml.Unmarshal([]byte(document), &any)).To(Succeed())
	}
	if !strings.Contains(content, "apiVersion:") || !strings.Contains(content, "kind:") || !startsAtTop(content) {
		return
	}
	objs, err := env.Decode([]byte(content))
	g.Expect(err).NotTo(HaveOccurred())
	for _, obj := range objs {
		if foreign[obj.GroupVersionKind().Group] {
			continue
		}
		ensureNamespace(t, e, obj.GetNamespace())
		err := client.WithFieldValidation(e.Client(), metav1.FieldValidationStrict).
			Create(t.Context(), namedAnew(obj), client.DryRunAll)
		g.Expect(apimeta.IsNoMatchError(err)).To(BeFalse(), "no definition of %s", obj.GroupVersionKind())
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// startsAtTop tells a whole manifest from a piece of one.
func startsAtTop(content string) bool {
	return strings.Contains("\n"+content, "\napiVersion:")
}

// namedAnew avoids objects that are there already.
func namedAnew(obj *unstructured.Unstructured) *unstructured.Unstructured {
	renamed := obj.DeepCopy()
	renamed.SetName("documented-" + obj.GetName())
	return renamed
}

func ensureNamespace(t *testing.T, e *env.Env, name string) {
	t.Helper()
	if name == "" {
		return
	}
	err := e.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	NewWithT(t).Expect(client.IgnoreAlreadyExists(err)).NotTo(HaveOccurred())
}
