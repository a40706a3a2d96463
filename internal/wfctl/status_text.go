// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"io"
	"strings"
	"time"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

// listed caps the lists of status for people; wide, and the other formats, show
// everything.
const listed = 20

// statusText prints a status for people.
type statusText struct {
	doc *statusDocument
	now time.Time
}

func (s statusText) write(w io.Writer, wide, color bool) error {
	var f table.Fields
	s.summary(&f)
	s.graph(&f)
	if err := f.Write(w, color); err != nil {
		return err
	}
	limit := listed
	if wide {
		limit = max(len(s.doc.Blocked), len(s.doc.Held), len(s.doc.Diagnostics))
	}
	for _, section := range []section{s.differences(), s.blocked(), s.held(), s.shadow(), s.diagnostics()} {
		if err := section.write(w, limit, color); err != nil {
			return err
		}
	}
	return nil
}

func (s statusText) summary(f *table.Fields) {
	fleet := s.doc.Wavefront
	f.AddText("Wavefront", fleet.Name)
	f.Add("Phase", phaseCell(fleet.Phase))
	f.AddText("Mode", string(fleet.Mode))
	f.Add("Suspended", suspendedCell(fleet.Suspend))
	if fleet.Deleting {
		f.Add("Deleting", table.Cell{Text: "yes: it lets go of its sources by releasePolicy " + string(fleet.ReleasePolicy), Style: table.Warn})
	}
	f.AddText("Generation", generation(fleet))
	if s.doc.Origin == picture.Derived {
		f.AddText("Derived", "just now, by wfctl")
	}
	f.AddText("Evaluated", s.evaluated())
	f.Add("Nodes", countCells(fleet.Counts)...)
	if p := s.doc.Published; p != nil {
		f.Add("Published", append([]table.Cell{phaseCell(p.Phase)}, countCells(p.Counts)...)...)
	}
}

func (s statusText) evaluated() string {
	at := s.doc.Wavefront.LastEvaluated
	if at == nil {
		return "never"
	}
	return age(s.now, at.Time) + " ago (every " + s.doc.Wavefront.PollInterval.Duration.String() + ")"
}

func generation(f picture.Fleet) string {
	if f.Generation == f.ObservedGeneration {
		return fmt.Sprint(f.Generation)
	}
	return fmt.Sprintf("%d (evaluated: %d)", f.Generation, f.ObservedGeneration)
}

func (s statusText) graph(f *table.Fields) {
	graph := s.doc.Graph
	style := table.Good
	if graph.Valid != "True" {
		style = table.Bad
	}
	lines := []table.Cell{{Text: strings.TrimSpace(graph.Valid + " " + graph.Reason), Style: style}}
	if graph.Message != "" && (graph.Valid != "True" || len(s.doc.Wavefront.CoAdmitted) > 0) {
		lines = append(lines, table.Cell{Text: graph.Message})
	}
	f.Add("Graph valid", lines...)
	for _, c := range s.doc.Cycles {
		f.Add("Cycle", table.Cell{Text: cyclePath(c), Style: table.Bad})
	}
	for _, group := range s.doc.Wavefront.CoAdmitted {
		f.AddText("Move together", strings.Join(group, ", "))
	}
}

func cyclePath(cycle []picture.Ref) string {
	parts := make([]string, len(cycle))
	for i, r := range cycle {
		parts[i] = r.Path()
	}
	return strings.Join(parts, " -> ")
}

func countCells(c *wavefrontv1.NodeCounts) []table.Cell {
	if c == nil {
		return table.Text(picture.Unknown)
	}
	lines := table.Text(
		fmt.Sprintf("%d (%d pinned, %d gates)", c.Observed, c.Pinned, c.Gates),
		fmt.Sprintf("%d settled, %d pending, %d converging", c.Settled, c.Pending, c.Converging),
		fmt.Sprintf("%d unhealthy, %d blocked, %d held", c.Unhealthy, c.Blocked, c.Held))
	if c.Unhealthy > 0 {
		lines[2].Style = table.Bad
	}
	return lines
}

func (s statusText) blocked() section {
	sec := section{title: "Blocked", header: []string{"NODE", "REASON", "BY", "SINCE"}}
	for _, b := range s.doc.Blocked {
		sec.rows = append(sec.rows, table.Text(b.Path(), b.Reason, ancestor(b.Ancestor), since(s.now, b.Block)))
	}
	return sec
}

func (s statusText) held() section {
	sec := section{title: "Held", header: []string{"NODE", "SOURCE", "REASON", "MANAGER"}}
	for _, h := range s.doc.Held {
		sec.rows = append(sec.rows, table.Text(h.Path(), h.Source, h.Reason, h.Manager))
	}
	return sec
}

func (s statusText) shadow() section {
	sec := section{title: "Would-be pins (Shadow)", header: []string{"SOURCE", "COMMIT"}}
	for _, pin := range s.doc.Wavefront.ShadowPins {
		sec.rows = append(sec.rows, table.Text(pin.Source, short(pin.Commit)))
	}
	return sec
}

func (s statusText) diagnostics() section {
	sec := section{title: "Diagnostics", header: []string{"OBJECT", "MESSAGE"}}
	for _, d := range s.doc.Diagnostics {
		sec.rows = append(sec.rows, table.Text(d.Object.String(), d.Message))
	}
	return sec
}

func (s statusText) differences() section {
	sec := section{title: "Differences", header: []string{"OBJECT", "FIELD", "PUBLISHED", "DERIVED"}}
	for _, d := range s.doc.Differences {
		sec.rows = append(sec.rows, []table.Cell{{Text: "≠ " + d.Object, Style: table.Warn}, {Text: d.Field}, {Text: d.Published}, {Text: d.Derived}})
	}
	if s.doc.Published != nil && len(sec.rows) == 0 {
		sec.empty = "none: the published status and the derived one agree"
	}
	return sec
}

// section is a titled table that is left out where it is empty.
type section struct {
	title  string
	header []string
	rows   [][]table.Cell
	// empty is said where there is nothing, if it is worth saying.
	empty string
}

func (s section) write(w io.Writer, limit int, color bool) error {
	if len(s.rows) == 0 && s.empty == "" {
		return nil
	}
	title := "\n" + table.Paint(s.title+":", table.Bold, color)
	if len(s.rows) == 0 {
		_, err := fmt.Fprintln(w, title+" "+s.empty)
		return err
	}
	if _, err := fmt.Fprintln(w, title); err != nil {
		return err
	}
	t := table.Table{Header: s.header, Rows: s.rows[:min(limit, len(s.rows))]}
	if err := t.Write(w, color); err != nil {
		return err
	}
	if left := len(s.rows) - limit; left > 0 {
		_, err := fmt.Fprintf(w, "and %d more: -o wide shows all\n", left)
		return err
	}
	return nil
}
