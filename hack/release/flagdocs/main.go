// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command flagdocs writes the table of the manager's flags into a document, from what
// the manager prints for --help on standard input.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// The table stands between these two lines of the document.
const (
	begin = "<!-- flags: begin (generated from --help by `make generate-docs`) -->\n"
	end   = "<!-- flags: end -->\n"
)

// usage is a line of --help: the flag, its type unless it is a boolean, and the text.
var usage = regexp.MustCompile(`^\s+(?:-\w, |    )?--([a-z0-9-]+)(?: (\S+))?\s{2,}(.+)$`)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manager --help | flagdocs DOCUMENT")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "flagdocs:", err)
		os.Exit(1)
	}
}

func run(help io.Reader, document string) error {
	table, err := tableOf(help)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(document)
	if err != nil {
		return fmt.Errorf("failed to read the document: %w", err)
	}
	head, rest, foundBegin := strings.Cut(string(content), begin)
	_, tail, foundEnd := strings.Cut(rest, end)
	if !foundBegin || !foundEnd {
		return fmt.Errorf("failed to find the table in %q: no line %q", document, strings.TrimSpace(begin))
	}
	if err := os.WriteFile(document, []byte(head+begin+table+end+tail), 0o644); err != nil {
		return fmt.Errorf("failed to write the document: %w", err)
	}
	return nil
}

// tableOf renders a row for each flag.
func tableOf(help io.Reader) (string, error) {
	table := "| Name | Type | Description |\n| --- | --- | --- |\n"
	flags := 0
	lines := bufio.NewScanner(help)
	for lines.Scan() {
		match := usage.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		kind := match[2]
		if kind == "" {
			kind = "boolean"
		}
		table += fmt.Sprintf("| `--%s` | %s | %s |\n", match[1], kind, strings.ReplaceAll(match[3], "|", `\|`))
		flags++
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("failed to read the help: %w", err)
	}
	if flags == 0 {
		return "", errors.New("failed to find a flag in the help")
	}
	return table, nil
}
