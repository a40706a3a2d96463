// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// requirement is a line of a go.mod file: a module and its version.
var requirement = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`)

// TestToolModulesAgree keeps the building of the test programs short: a package is
// compiled once for all of them only where they agree on its module's version, and on
// those of all that it imports. To mend it, go get the higher version in the folder of
// the lower one.
func TestToolModulesAgree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		dirs []string
		// apart are the prefixes of modules that may differ: those of another
		// Kubernetes release.
		apart []string
	}{
		{
			name: "Flux controllers",
			dirs: []string{"source-controller", "kustomize-controller"},
		},
		{
			name:  "all",
			dirs:  []string{"etcd", "kube-apiserver", "source-controller", "kustomize-controller"},
			apart: []string{"k8s.io/", "sigs.k8s.io/"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			users := map[string]map[string][]string{} // module, version, tool modules
			for _, dir := range tt.dirs {
				goMod, err := os.ReadFile(filepath.Join("..", "..", "hack", "programs", dir, "go.mod"))
				g.Expect(err).NotTo(HaveOccurred())
				for _, match := range requirement.FindAllStringSubmatch(string(goMod), -1) {
					if users[match[1]] == nil {
						users[match[1]] = map[string][]string{}
					}
					users[match[1]][match[2]] = append(users[match[1]][match[2]], dir)
				}
			}
			g.Expect(len(users)).To(BeNumerically(">", 100))
			for module, versions := range users {
				if !hasAnyPrefix(module, tt.apart) {
					g.Expect(versions).To(HaveLen(1), "versions of %s", module)
				}
			}
		})
	}
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}
