// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	anchorDrop = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// documents lists the Markdown files of the work tree.
func documents(t testing.TB) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var found []string
	NewWithT(t).Expect(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "bin" || name == "dist" || name == "testdata" || (strings.HasPrefix(name, ".") && name != "..")) {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".md") {
			found = append(found, path)
		}
		return nil
	})).To(Succeed())
	return found
}

// anchors are what the headings of a document are linked by: lower case, without
// punctuation, blanks as dashes, and a number from the second of the same name on.
func anchors(text string) map[string]bool {
	known := map[string]bool{}
	count := map[string]int{}
	for line := range strings.Lines(fenced.ReplaceAllString(text, "")) {
		match := title.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if match == nil {
			continue
		}
		anchor := strings.ReplaceAll(anchorDrop.ReplaceAllString(strings.ToLower(match[2]), ""), " ", "-")
		if count[anchor]++; count[anchor] > 1 {
			anchor += "-" + string(rune('0'+count[anchor]-1))
		}
		known[anchor] = true
	}
	return known
}

// TestLinks follows every relative link, to the heading that it names.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		t.Run(document, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(document)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(content), ""), -1) {
				target, anchor, _ := strings.Cut(match[1], "#")
				if strings.Contains(target, ":") {
					continue
				}
				path := document
				if target != "" {
					path = filepath.Join(filepath.Dir(document), target)
				}
				linked, err := os.ReadFile(path)
				if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
					err = nil
				}
				if err != nil {
					t.Errorf("link %q leads nowhere", match[1])
				} else if anchor != "" && !anchors(string(linked))[anchor] {
					t.Errorf("link %q: no such heading", match[1])
				}
			}
		})
	}
}
