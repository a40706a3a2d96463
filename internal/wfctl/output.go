// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// result is what a read command found, renderable in every format it offers.
type result struct {
	// document is what json and yaml print.
	document any
	// text prints for people; wide asks for more columns.
	text func(w io.Writer, wide, color bool) error
	// other formats of the command, by name.
	other map[string]func(w io.Writer) error
	// notes explain what the text shows; narrated for the text formats only.
	notes []string
	// code is the exit code, in every format.
	code int
}

// formatFlag is the flag -o of a read command.
type formatFlag struct{ format string }

// addTo adds the flag; extra formats beside the usual ones come last.
func (f *formatFlag) addTo(cmd *cobra.Command, extra ...string) {
	allowed := append([]string{formatTable, formatWide, formatJSON, formatYAML}, extra...)
	newChoice(&f.format, formatTable, allowed...).addTo(cmd, "output", "o", "Format of the output")
}

// print renders r and returns its exit code as an error.
func (p *program) print(r *result, format string) error {
	if err := p.render(p.streams.Out, r, format); err != nil {
		return err
	}
	if format == formatTable || format == formatWide {
		for _, n := range r.notes {
			p.note("%s", n)
		}
	}
	if r.code != ExitSuccess {
		return ExitCode(r.code)
	}
	return nil
}

func (p *program) render(w io.Writer, r *result, format string) error {
	var err error
	switch format {
	case formatJSON:
		err = writeJSON(w, r.document)
	case formatYAML:
		err = writeYAML(w, r.document)
	case formatTable, formatWide:
		err = r.text(w, format == formatWide, p.colored())
	default:
		err = r.other[format](w)
	}
	if err != nil {
		return fmt.Errorf("failed to write %s: %w", format, err)
	}
	return nil
}

// writeJSON prints indented JSON with every unprintable character escaped.
func writeJSON(w io.Writer, document any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		return err
	}
	_, err := w.Write(escape.JSON(out.Bytes()))
	return err
}

// writeYAML prints YAML. Its plain style can't escape: a document with
// unprintable characters is printed as JSON, which is YAML as well.
func writeYAML(w io.Writer, document any) error {
	data, err := yaml.Marshal(document)
	if err != nil {
		return err
	}
	if !escape.Printable(data) {
		return writeJSON(w, document)
	}
	_, err = w.Write(data)
	return err
}
