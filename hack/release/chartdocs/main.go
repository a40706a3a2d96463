// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chartdocs writes the table of values into the README of the chart, from
// the comments and defaults of its values.yaml.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The table stands between these two lines of the README.
const (
	begin = "<!-- values: begin (generated from values.yaml by `make chart`) -->\n"
	end   = "<!-- values: end -->\n"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chartdocs CHART-FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "chartdocs:", err)
		os.Exit(1)
	}
}

func run(chart string) error {
	values, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return fmt.Errorf("failed to read the values: %w", err)
	}
	table, err := tableOf(values)
	if err != nil {
		return err
	}
	path := filepath.Join(chart, "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("failed to read the README: %w", err)
	}
	head, rest, foundBegin := strings.Cut(string(readme), begin)
	_, tail, foundEnd := strings.Cut(rest, end)
	if !foundBegin || !foundEnd {
		return fmt.Errorf("failed to find the table in %q: no line %q", path, strings.TrimSpace(begin))
	}
	if err := os.WriteFile(path, []byte(head+begin+table+end+tail), 0o644); err != nil {
		return fmt.Errorf("failed to write the README: %w", err)
	}
	return nil
}

// tableOf renders a row for each documented value.
func tableOf(values []byte) (string, error) {
	root, err := yaml.Parse(string(values))
	if err != nil {
		return "", fmt.Errorf("failed to parse the values: %w", err)
	}
	var table strings.Builder
	table.WriteString("| value | default | meaning |\n| --- | --- | --- |\n")
	if err := rows(&table, "", root.YNode()); err != nil {
		return "", err
	}
	return table.String(), nil
}

// rows descends until a comment documents a value; a value that nothing documents is
// an error.
func rows(table *strings.Builder, prefix string, mapping *yaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		path := prefix + key.Value
		if comment, ok := documentation(key.HeadComment); ok {
			def, err := defaultOf(value)
			if err != nil {
				return fmt.Errorf("failed to encode the default of %q: %w", path, err)
			}
			fmt.Fprintf(table, "| `%s` | `%s` | %s |\n", path, def, comment)
			continue
		}
		if value.Kind != yaml.MappingNode || len(value.Content) == 0 {
			return fmt.Errorf("value %q has no comment that begins with '# --'", path)
		}
		if err := rows(table, path+".", value); err != nil {
			return err
		}
	}
	return nil
}

// documentation joins the lines of a comment from its dashes on.
func documentation(comment string) (string, bool) {
	_, text, found := strings.Cut(comment, "# -- ")
	if !found {
		return "", false
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\n# ", " "), "|", `\|`)
	return strings.TrimSpace(text), true
}

func defaultOf(value *yaml.Node) (string, error) {
	var decoded any
	if err := value.Decode(&decoded); err != nil {
		return "", err
	}
	encoded, err := json.Marshal(decoded)
	return string(encoded), err
}
