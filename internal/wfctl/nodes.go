// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

func (p *program) nodesCommand() *cobra.Command {
	return p.watchable(&cobra.Command{
		Use:   "nodes",
		Short: "List the nodes of the graph: state, what blocks them, pin and lag",
		Long: `List the nodes of the graph.

LAG is how long the newest commit has waited to be admitted. A gate has no pin: it
counts by its health alone. -o wide adds the wave (the longest path from a root; -1 in
or behind a cycle), readiness and dependsOn.`,
		Example: `  # Every node
  wfctl nodes

  # With waves and edges, as long as things move
  wfctl nodes -o wide --watch`,
		Args: noArgs,
	}, false, func(pic *picture.Picture, _ []string) (*result, error) { return p.nodesResult(pic), nil })
}

func (p *program) nodesResult(pic *picture.Picture) *result {
	n := &notes{program: p, pic: pic}
	n.nothing(pic)
	n.unobserved(pic)
	n.holds(pic)
	return &result{
		document: pic.Nodes,
		notes:    n.lines,
		text: func(w io.Writer, wide, color bool) error {
			return nodesTable(pic, p.moment(pic), wide).Write(w, color)
		},
	}
}

func nodesTable(pic *picture.Picture, now time.Time, wide bool) *table.Table {
	t := &table.Table{Header: []string{"NODE", "ROLE", "STATE", "HELD", "BLOCKED BY", "SOURCE", "PIN", "OBSERVED", "LAG"}}
	if wide {
		t.Header = append(t.Header, "WAVE", "READY", "DEPENDS ON")
	}
	for _, n := range pic.Nodes {
		row := append(table.Text(n.Path(), n.Role), stateCell(n.State))
		row = append(row, table.Text(holdText(n.Hold), blockText(n.Blocked), sourcePath(n), short(n.Pin),
			observedText(pinnedNode(n), n.Observed), lagText(now, pinnedNode(n), n))...)
		if wide {
			row = append(row, table.Text(fmt.Sprint(n.Wave), fmt.Sprint(n.Ready), paths(n.DependsOn))...)
		}
		t.Add(row...)
	}
	return t
}

func paths(refs []picture.Ref) string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.Path()
	}
	return strings.Join(out, ",")
}
