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

func (p *program) sourceCommand() *cobra.Command {
	return p.watchable(&cobra.Command{
		Use:   "source NAMESPACE/NAME",
		Short: "Show everything about one source, with provenance and conditions",
		Long: `Show everything about one source: what it is pinned at and since when, what waits,
who holds it, where the pin was seen, its nodes with their states, and the conditions
that source-controller reports.`,
		Example:           `  wfctl source flotillas/team-x`,
		Args:              exactName("source (namespace/name)"),
		ValidArgsFunction: p.completeSources(),
	}, true, func(pic *picture.Picture, args []string) (*result, error) {
		s, err := findSource(pic, args[0])
		if err != nil {
			return nil, err
		}
		return p.sourceResult(pic, s), nil
	})
}

// sourceDocument is what source prints as JSON and YAML.
type sourceDocument struct {
	picture.Source `json:",inline"`
	Members        []picture.Node `json:"members"`
}

func (p *program) sourceResult(pic *picture.Picture, s *picture.Source) *result {
	doc := sourceDocument{Source: *s, Members: []picture.Node{}}
	for _, ref := range s.Nodes {
		if n := pic.Node(ref); n != nil {
			doc.Members = append(doc.Members, *n)
		}
	}
	one := &picture.Picture{Origin: pic.Origin, Polled: pic.Polled, Wavefront: pic.Wavefront, Sources: []picture.Source{*s}, SourcesUnread: pic.SourcesUnread}
	n := &notes{program: p, pic: one}
	n.unobserved(one)
	n.unread(one, "the fields that the object itself tells")
	now := p.moment(pic)
	return &result{document: doc, notes: n.lines, text: func(w io.Writer, _, color bool) error {
		return writeSource(w, doc, now, color)
	}}
}

func writeSource(w io.Writer, doc sourceDocument, now time.Time, color bool) error {
	var f table.Fields
	f.AddText("Source", doc.Path())
	f.AddText("Pin", virtualText(doc.Source))
	f.AddText("Observed", observedLong(doc.Source))
	f.AddText("Pending", pendingText(doc.Source, now))
	f.Add("Hold", table.Cell{Text: holdText(doc.Hold), Style: table.Warn})
	if doc.ObservationError != "" {
		f.Add("Listing failed", table.Cell{Text: doc.ObservationError, Style: table.Bad})
	}
	addDetail(&f, doc.Detail, now)
	if err := f.Write(w, color); err != nil {
		return err
	}
	if len(doc.Members) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	t := table.Table{Header: []string{"NODE", "STATE", "READY", "BLOCKED BY", "TROUBLE"}}
	for _, n := range doc.Members {
		t.Add(table.Cell{Text: n.Path()}, stateCell(n.State), table.Cell{Text: fmt.Sprint(n.Ready)},
			table.Cell{Text: blockText(n.Blocked)}, table.Cell{Text: n.Trouble})
	}
	return t.Write(w, color)
}

func virtualText(s picture.Source) string {
	if s.Virtual && s.Pin != "" {
		return s.Pin + " (would-be: the Wavefront is in Shadow)"
	}
	return s.Pin
}

func observedLong(s picture.Source) string {
	if s.Observed == "" && !declared(s.Hold) {
		return picture.Unknown
	}
	return s.Observed
}

func pendingText(s picture.Source, now time.Time) string {
	if s.Pending() == "" {
		return "nothing"
	}
	if s.PendingSince == nil {
		return s.Pending()
	}
	return s.Pending() + ", for " + age(now, s.PendingSince.Time)
}

// addDetail adds what the object itself says.
func addDetail(f *table.Fields, d *picture.Detail, now time.Time) {
	if d == nil {
		for _, name := range []string{"URL", "Tracks", "Owners of the pin", "Artifact"} {
			f.AddText(name, picture.Unknown)
		}
		return
	}
	f.AddText("URL", d.URL)
	f.AddText("Tracks", d.Tracks)
	f.AddText("Interval", d.Interval.Duration.String())
	f.AddText("Managed", fmt.Sprint(d.Managed))
	if d.Suspended {
		f.Add("Suspended", table.Cell{Text: "yes: source-controller does not fetch it", Style: table.Warn})
	}
	f.AddText("Commit in spec", d.Commit)
	f.AddText("Owners of the pin", strings.Join(d.Owners, ", "))
	f.AddText("Pinned for", d.OwnedBy)
	f.AddText("Recorded pin", d.Record)
	f.AddText("Previous pin", d.PreviousPin)
	f.AddText("Seen on", strings.TrimSpace(d.ObservedRef+" "+d.ObservedURL))
	f.AddText("Admitted at", d.AdmittedAt)
	if d.HeldBy != "" {
		f.Add("Held by", table.Cell{Text: d.HeldBy, Style: table.Warn})
	}
	if d.ForcedBy != "" {
		f.Add("Forced by", table.Cell{Text: d.ForcedBy, Style: table.Warn})
	}
	f.AddText("Artifact", artifactText(d, now))
	f.Add("Conditions", conditionCells(d.Conditions, now)...)
}

func artifactText(d *picture.Detail, now time.Time) string {
	if d.Artifact == "" || d.ArtifactTime == nil {
		return d.Artifact
	}
	return d.Artifact + ", stored " + age(now, d.ArtifactTime.Time) + " ago"
}

func conditionCells(conditions []picture.Condition, now time.Time) []table.Cell {
	cells := make([]table.Cell, 0, len(conditions))
	for _, c := range conditions {
		cell := table.Cell{Text: fmt.Sprintf("%s %s %s, for %s: %s", c.Type, c.Status, c.Reason, age(now, c.Since.Time), c.Message)}
		if c.Type == "Ready" && c.Status != "True" || c.Type == "FetchFailed" {
			cell.Style = table.Bad
		}
		cells = append(cells, cell)
	}
	return cells
}
