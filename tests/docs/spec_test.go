// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

const wavefrontSpec = "docs/spec/v1alpha1/wavefronts.md"

// read returns a file of the work tree.
func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", path))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// TestSpecHasEveryField walks the API's types; each path of a field must stand in
// the specification in code type.
func TestSpecHasEveryField(t *testing.T) {
	t.Parallel()
	spec := read(t, wavefrontSpec)
	paths := append(fieldPaths(".spec", reflect.TypeFor[wavefrontv1.WavefrontSpec]()),
		fieldPaths(".status", reflect.TypeFor[wavefrontv1.WavefrontStatus]())...)
	NewWithT(t).Expect(paths).To(ContainElements(".spec.poll.staleAfter", ".status.members[].wave", ".status.lastHandledReconcileAt"))
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			NewWithT(t).Expect(spec).To(ContainSubstring("`" + path + "`"))
		})
	}
}

// leaves are types whose own fields are described elsewhere.
var leaves = map[reflect.Type]bool{
	reflect.TypeFor[metav1.LabelSelector]():      true,
	reflect.TypeFor[metav1.Condition]():          true,
	reflect.TypeFor[metav1.Time]():               true,
	reflect.TypeFor[metav1.Duration]():           true,
	reflect.TypeFor[wavefrontv1.NodeReference](): true,
	reflect.TypeFor[wavefrontv1.MemberBlock]():   true,
}

// fieldPaths lists the JSON paths below a type, "[]" standing for an element.
func fieldPaths(prefix string, typ reflect.Type) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct && !leaves[typ.Elem()] {
			prefix += "[]"
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || leaves[typ] {
		return nil
	}
	var paths []string
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path := prefix
		if name != "" {
			path += "." + name
			if path != ".status.conditions" {
				paths = append(paths, path)
			}
		}
		paths = append(paths, fieldPaths(path, field.Type)...)
	}
	return paths
}

// TestSpecHasEveryConstant parses the constants of the API (conditions, reasons,
// events, actions, annotations, states, modes, managers) and the reasons of the
// rules; each value must stand in the specification in code type.
func TestSpecHasEveryConstant(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := read(t, wavefrontSpec)
	values := stringConstants(t, "api/wavefront/v1alpha1")
	g.Expect(values).To(ContainElements("GraphValid", "PinAdvanced", wavefrontv1.HeldByAnnotation, "Quiescent"))
	for _, value := range values {
		t.Run(value, func(t *testing.T) {
			NewWithT(t).Expect(spec).To(Or(
				ContainSubstring("`"+value+"`"),
				ContainSubstring("reason: "+value+"\n"),
				ContainSubstring("reason: "+value+"`"),
				ContainSubstring("type: "+value+"`")))
		})
	}
}

// TestSpecHasEveryReason compares the tables of blocked and held reasons with the
// rules, in both directions: a reason that is gone must leave the specification.
func TestSpecHasEveryReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		heading string
		typ     string
	}{
		{name: "blocked", heading: "### Blocked", typ: "Reason"},
		{name: "held", heading: "### Held", typ: "HoldReason"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			want := typedConstants(t, "internal/fleet", tt.typ)
			g.Expect(want).NotTo(BeEmpty())
			g.Expect(firstColumn(section(t, read(t, wavefrontSpec), tt.heading))).To(ConsistOf(want))
		})
	}
}

// TestSpecHasEveryEvent compares the table of events with the API.
func TestSpecHasEveryEvent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(firstColumn(section(t, read(t, wavefrontSpec), "## Events"))).
		To(ConsistOf(typedConstants(t, "api/wavefront/v1alpha1", "EventReason")))
}

// section returns the text from a heading to the next one of its level or above.
func section(t testing.TB, text, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, "\n"+heading+"\n")
	NewWithT(t).Expect(found).To(BeTrue(), "heading %q", heading)
	for level := strings.Repeat("#", len(heading)-len(strings.TrimLeft(heading, "#"))); level != ""; level = level[1:] {
		rest, _, _ = strings.Cut(rest, "\n"+level+" ")
	}
	return rest
}

// firstColumn returns the values in code type of a table's first column.
func firstColumn(text string) []string {
	var values []string
	for line := range strings.Lines(text) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			value, _, _ := strings.Cut(cell, "`")
			values = append(values, value)
		}
	}
	return values
}

// stringConstants returns the values of a package's exported constants.
func stringConstants(t testing.TB, pkg string) []string {
	t.Helper()
	return constants(t, pkg, func(string) bool { return true })
}

// typedConstants returns the values of the constants of one type.
func typedConstants(t testing.TB, pkg, typ string) []string {
	t.Helper()
	return constants(t, pkg, func(got string) bool { return got == typ })
}

func constants(t testing.TB, pkg string, wanted func(typ string) bool) []string {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	var values []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		g.Expect(err).NotTo(HaveOccurred())
		for _, decl := range parsed.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.CONST {
				values = append(values, constantsOf(gen, wanted)...)
			}
		}
	}
	return values
}

func constantsOf(decl *ast.GenDecl, wanted func(typ string) bool) []string {
	var values []string
	for _, spec := range decl.Specs {
		value := spec.(*ast.ValueSpec)
		typ := ""
		if ident, ok := value.Type.(*ast.Ident); ok {
			typ = ident.Name
		}
		for i, name := range value.Names {
			if !name.IsExported() || i >= len(value.Values) || !wanted(typ) {
				continue
			}
			if literal, ok := value.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					values = append(values, text)
				}
			}
		}
	}
	return values
}
