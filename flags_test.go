// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"

	. "github.com/onsi/gomega"
)

// fieldsRead finds, in the source of this package, which fields of the options are
// read where: "leaderElection.RenewDeadline" for one field, "client" where the
// options of a library are handed over as a whole. Binding a flag is not reading.
func fieldsRead(g *WithT) map[string]bool {
	files, err := filepath.Glob("*.go")
	g.Expect(err).NotTo(HaveOccurred())
	reads := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		g.Expect(err).NotTo(HaveOccurred())
		for _, declaration := range file.Decls {
			f, is := declaration.(*ast.FuncDecl)
			if !is || f.Name.Name == "BindFlags" {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if path := optionPath(n); path != "" {
					reads[path] = true
					return false // its inner parts are the same read
				}
				return true
			})
		}
	}
	return reads
}

// optionPath renders a selector on the options, down to its last field.
func optionPath(n ast.Node) string {
	var names []string
	for {
		switch e := n.(type) {
		case *ast.SelectorExpr:
			names = append([]string{e.Sel.Name}, names...)
			n = e.X
			continue
		case *ast.Ident:
			if e.Name == "opts" || e.Name == "o" {
				return fieldPath(names)
			}
		}
		return ""
	}
}

// fieldPath follows names through the fields of the options, as far as they are
// fields.
func fieldPath(names []string) string {
	path, in := []string{}, reflect.TypeFor[options]()
	for _, name := range names {
		if in.Kind() != reflect.Struct {
			break
		}
		field, is := in.FieldByName(name)
		if !is {
			break
		}
		path, in = append(path, name), field.Type
	}
	return strings.Join(path, ".")
}
