// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/layout"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

func (p *program) graphCommand() *cobra.Command {
	var from pictureFlags
	var format formatFlag
	var tree bool
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw the graph: waves, a tree, dot, mermaid or SVG",
		Long: `Draw the dependency graph. By default wave by wave: everything in a wave may move once
the waves before it are settled. --tree shows dependents below what they depend on.
What is in or behind a cycle is listed apart. SVG needs no Graphviz.`,
		Example: `  wfctl graph
  wfctl graph --tree
  wfctl graph -o svg > fleet.svg`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tree && format.format != formatTable && format.format != formatWide {
				return fmt.Errorf("failed to read the flags: --tree is a text, it can't be combined with -o %s", format.format)
			}
			pic, err := p.load(cmd.Context(), &from, false)
			if err != nil {
				return err
			}
			return p.print(p.graphResult(pic, tree), format.format)
		},
	}
	from.addTo(cmd)
	format.addTo(cmd, formatDot, formatMermaid, formatSVG)
	cmd.Flags().BoolVar(&tree, "tree", false, "Show dependents below what they depend on")
	return cmd
}

func (p *program) graphResult(pic *picture.Picture, tree bool) *result {
	g := layout.Of(pic)
	n := &notes{program: p, pic: pic}
	n.nothing(pic)
	return &result{
		document: g,
		notes:    n.lines,
		text: func(w io.Writer, _, color bool) error {
			paint := func(state string) string {
				return table.Paint(state, stateStyles[strings.TrimSpace(state)], color)
			}
			if tree {
				return g.WriteTree(w, paint)
			}
			return g.WriteWaves(w, paint)
		},
		other: map[string]func(io.Writer) error{
			formatDot:     g.WriteDot,
			formatMermaid: g.WriteMermaid,
			formatSVG: func(w io.Writer) error {
				return g.WriteSVG(w, "Wavefront "+pic.Wavefront.Name+": "+string(pic.Wavefront.Phase))
			},
		},
	}
}
