// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/explain"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

func (p *program) explainCommand() *cobra.Command {
	var from pictureFlags
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "explain [KIND/]NAMESPACE/NAME",
		Short: "Say why a node stands where it does, and what helps",
		Long: `Walk from a node along what blocks it to the root cause, in sentences, and name the
fix: the command to run or the edit to make. Ends with what it would take for this
node to move.`,
		Example: `  wfctl explain flotillas/team-x

  # When the controller is down
  wfctl explain --derive --poll flotillas/team-x`,
		Args:              exactName("node ([Kind/]namespace/name)"),
		ValidArgsFunction: p.completeNodes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			pic, err := p.load(cmd.Context(), &from, true) // the commit before is the source's to tell
			if err != nil {
				return err
			}
			n, err := findNode(pic, args[0])
			if err != nil {
				return err
			}
			return p.print(p.explainResult(pic, n), format.format)
		},
	}
	from.addTo(cmd)
	format.addTo(cmd)
	return cmd
}

func (p *program) explainResult(pic *picture.Picture, n *picture.Node) *result {
	doc := explain.Explainer{Picture: pic, Now: p.moment(pic), Command: p.run}.Explain(n)
	return &result{document: doc, text: func(w io.Writer, _, color bool) error {
		return writeExplanation(w, doc, color)
	}}
}

func writeExplanation(w io.Writer, doc explain.Explanation, color bool) error {
	out := &bytes.Buffer{}
	for i, step := range doc.Chain {
		lead := "  └─ "
		if i == 0 {
			lead = ""
		}
		name := table.Paint(escape.Terminal(step.Object.String()), table.Bold, color)
		fmt.Fprintf(out, "%s%s %s.\n", lead, name, escape.Terminal(step.Text))
	}
	if len(doc.Chain) > 1 {
		fmt.Fprintf(out, "\n%s %s\n", table.Paint("Root cause:", table.Bold, color), escape.Terminal(doc.Root.String()))
	}
	if len(doc.Fix) > 0 {
		fmt.Fprintf(out, "\n%s\n", table.Paint("What helps:", table.Bold, color))
		for _, fix := range doc.Fix {
			fmt.Fprintf(out, "  - %s\n", escape.Terminal(fix))
		}
	}
	fmt.Fprintf(out, "\n%s %s.\n", table.Paint("To move:", table.Bold, color), escape.Terminal(doc.ToMove))
	_, err := out.WriteTo(w)
	return err
}
