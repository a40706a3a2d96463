// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fluxapp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fluxappv1 "github.com/isometry/wavefront-controller/api/apps/v1"
	"github.com/isometry/wavefront-controller/tests/env"
)

const specFile = "../../docs/spec/apps/v1/fluxapps.md"

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The specification mentions every field by its path.
func TestSpecificationHasEveryField(t *testing.T) {
	t.Parallel()
	spec := readFile(t, specFile)
	paths := append(fieldPaths(".spec", reflect.TypeFor[fluxappv1.FluxAppSpec]()),
		fieldPaths(".status", reflect.TypeFor[fluxappv1.FluxAppStatus]())...)
	NewWithT(t).Expect(paths).To(ContainElements(".spec.chart.repository", ".status.inventory.entries[].v", ".status.lastHandledReconcileAt"))
	for _, path := range paths {
		NewWithT(t).Expect(spec).To(ContainSubstring("`" + path + "`"))
	}
}

// fieldPaths are the JSON paths of the leaves of a struct.
func fieldPaths(prefix string, of reflect.Type) []string {
	switch {
	case of.Kind() == reflect.Pointer:
		return fieldPaths(prefix, of.Elem())
	case of == reflect.TypeFor[[]metav1.Condition]():
		return nil
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
		return fieldPaths(prefix+"[]", of.Elem())
	case of.Kind() != reflect.Struct || !strings.Contains(of.PkgPath(), "/api") || of.Name() == "JSON":
		return []string{prefix}
	}
	var paths []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			paths = append(paths, fieldPaths(prefix, field.Type)...)
			continue
		}
		paths = append(paths, fieldPaths(prefix+"."+name, field.Type)...)
	}
	return paths
}

// The specification mentions every reason of the API.
func TestSpecificationHasEveryReason(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := readFile(t, specFile)
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/apps/v1/condition_types.go", nil, 0)
	g.Expect(err).NotTo(HaveOccurred())
	reasons := 0
	ast.Inspect(file, func(node ast.Node) bool {
		value, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(value.Names[0].Name, "Reason") {
			return true
		}
		reason, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(spec).To(ContainSubstring("| `"+reason+"` |"), value.Names[0].Name)
		reasons++
		return true
	})
	g.Expect(reasons).To(BeNumerically(">", 10))
}

// Every FluxApp that is shown to users is one that the API server accepts.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := env.Shared(t)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readFile(t, specFile), -1)
	g.Expect(len(examples)).To(BeNumerically(">=", 3))
	texts := []string{readFile(t, "../../config/fluxapp/samples/apps_v1_fluxapp.yaml")}
	for _, example := range examples {
		texts = append(texts, example[1])
	}
	for _, text := range texts {
		objects, err := env.Decode([]byte(text))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(objects).To(HaveLen(1))
		objects[0].SetNamespace("default")
		g.Expect(e.Client().Create(t.Context(), objects[0], client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))).To(Succeed(), text)
	}
}

// The overlay has the definition, the roles and the gate.
func TestOverlay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objects, err := env.BuildKustomization("../../config/fluxapp")
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]bool{}
	for _, object := range objects {
		found[object.GetKind()+" "+object.GetName()] = true
		g.Expect(object.GetLabels()["app.kubernetes.io/part-of"]).NotTo(Equal("flux"), "flux uninstall would delete it")
		if object.GetKind() == "Deployment" {
			text, err := object.MarshalJSON()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(ContainSubstring(`"--feature-gates=FluxApp=true"`))
		}
	}
	g.Expect(found).To(And(HaveKey("CustomResourceDefinition fluxapps.apps.kloudy.uk"), HaveKey("CustomResourceDefinition wavefronts.wavefront.as-code.io"),
		HaveKey("ClusterRole wavefront-controller-fluxapp"), HaveKey("ClusterRoleBinding wavefront-controller-fluxapp"), HaveKey("Deployment wavefront-controller")))
}
