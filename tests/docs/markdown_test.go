// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// block is a fenced block of a document.
type block struct {
	// heading is the nearest one above, section the nearest of the second level.
	heading, section string
	// language is what stands after the fence.
	language string
	content  string
	line     int
	// notRun is why the block can't be run here; empty where it can.
	notRun string
}

var (
	fence  = regexp.MustCompile("^( *)```([a-z]*)$")
	marked = regexp.MustCompile(`^ *<!-- not run: (.+) -->$`)
	title  = regexp.MustCompile(`^(#+) (.+)$`)
)

// blocks parses the fenced blocks of a document. A mark holds for the block right
// under it.
func blocks(text string) []block {
	var found []block
	var current *block
	var indent, heading, section, reason string
	for i, line := range strings.Split(text, "\n") {
		switch {
		case current != nil && strings.TrimSpace(line) == "```":
			found = append(found, *current)
			current = nil
		case current != nil:
			current.content += strings.TrimPrefix(line, indent) + "\n"
		case fence.MatchString(line):
			match := fence.FindStringSubmatch(line)
			indent = match[1]
			current = &block{heading: heading, section: section, language: match[2], line: i + 1, notRun: reason}
			reason = ""
		case marked.MatchString(line):
			reason = marked.FindStringSubmatch(line)[1]
		case title.MatchString(line):
			match := title.FindStringSubmatch(line)
			heading = match[2]
			if len(match[1]) == 2 {
				section = match[2]
			}
		case strings.TrimSpace(line) != "":
			reason = ""
		}
	}
	return found
}

// TestBlocks parses what the other tests rely on.
func TestBlocks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text := "# A\n## B\n```sh\none\n```\n<!-- not run: no engine -->\n\n```sh\ntwo\n```\ntext\n### C\n" +
		"   ```yaml\n   a:\n     b: 1\n   ```\n<!-- not run: lost -->\ntext\n```sh\nthree\n```\n"
	g.Expect(blocks(text)).To(Equal([]block{
		{heading: "B", section: "B", language: "sh", content: "one\n", line: 3},
		{heading: "B", section: "B", language: "sh", content: "two\n", line: 8, notRun: "no engine"},
		{heading: "C", section: "B", language: "yaml", content: "a:\n  b: 1\n", line: 13},
		{heading: "C", section: "B", language: "sh", content: "three\n", line: 19},
	}))
}
