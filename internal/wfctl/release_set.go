// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

func (p *program) releaseSetCommand() *cobra.Command {
	var from pictureFlags
	var format formatFlag
	var unsettled bool
	cmd := &cobra.Command{
		Use:   "release-set",
		Short: "List what is released: each source at its commit, once the fleet is quiescent",
		Long: `List the release: source, URL, reference, commit, previous commit, when it was admitted,
and its nodes with their health, one row a node.

A fleet that is not Quiescent has no release, only a state in passing: it is refused,
unless --allow-unsettled. A list that is incomplete is refused as well.`,
		Example: `  # The release as it stands, for the change log
  wfctl release-set -o csv > release.csv`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pic, err := p.load(cmd.Context(), &from, true)
			if err != nil {
				return err
			}
			if err := p.isRelease(pic, unsettled); err != nil {
				return err
			}
			return p.print(p.releaseSetResult(pic), format.format)
		},
	}
	from.addTo(cmd)
	format.addTo(cmd, formatCSV)
	cmd.Flags().BoolVar(&unsettled, "allow-unsettled", false, "List the present state although it is no release")
	return cmd
}

// isRelease refuses what would not be a release.
func (p *program) isRelease(pic *picture.Picture, unsettled bool) error {
	w := pic.Wavefront
	var why string
	switch {
	case w.Phase != wavefrontv1.PhaseQuiescent:
		phase := string(w.Phase)
		if phase == "" {
			phase = "not evaluated"
		}
		why = fmt.Sprintf("the fleet is %s, not Quiescent (see %s)", phase, p.run("status"))
	case w.MembersOmitted > 0:
		why = fmt.Sprintf("%d nodes are left out of the status; list them all with %s", w.MembersOmitted, p.run("release-set --derive"))
	default:
		return nil
	}
	if !unsettled {
		return fmt.Errorf("failed to list the release set: %s; --allow-unsettled lists it anyway", why)
	}
	p.warning("this is not a release: %s", why)
	return nil
}

// releaseEntry is one row: a node of a source.
type releaseEntry struct {
	Source         string `json:"source"`
	URL            string `json:"url"`
	Ref            string `json:"ref"`
	Commit         string `json:"commit"`
	PreviousCommit string `json:"previousCommit"`
	AdmittedAt     string `json:"admittedAt"`
	Node           string `json:"node"`
	Health         string `json:"health"`
}

func (e releaseEntry) cells() []string {
	return []string{e.Source, e.URL, e.Ref, e.Commit, e.PreviousCommit, e.AdmittedAt, e.Node, e.Health}
}

var releaseHeader = []string{"source", "url", "ref", "commit", "previousCommit", "admittedAt", "node", "health"}

func releaseSet(pic *picture.Picture) []releaseEntry {
	out := []releaseEntry{}
	for _, s := range pic.Sources {
		for _, ref := range s.Nodes {
			e := releaseEntry{Source: s.Path(), URL: picture.Unknown, Ref: picture.Unknown, Commit: s.Pin,
				PreviousCommit: picture.Unknown, AdmittedAt: picture.Unknown, Node: ref.String(), Health: picture.Unknown}
			if n := pic.Node(ref); n != nil {
				e.Health = n.State
			}
			if d := s.Detail; d != nil {
				e.URL, e.Ref, e.PreviousCommit, e.AdmittedAt = d.URL, d.Tracks, d.PreviousPin, d.AdmittedAt
			}
			out = append(out, e)
		}
	}
	return out
}

func (p *program) releaseSetResult(pic *picture.Picture) *result {
	entries := releaseSet(pic)
	n := &notes{program: p, pic: pic}
	n.unread(pic, "URL, REF, PREVIOUS, ADMITTED")
	return &result{
		document: entries, notes: n.lines,
		text: func(w io.Writer, wide, color bool) error {
			return releaseTable(entries, wide).Write(w, color)
		},
		other: map[string]func(io.Writer) error{
			formatCSV: func(w io.Writer) error { return writeCSV(w, entries) },
		},
	}
}

func releaseTable(entries []releaseEntry, wide bool) *table.Table {
	t := &table.Table{Header: []string{"SOURCE", "URL", "REF", "COMMIT", "PREVIOUS", "ADMITTED", "NODE", "HEALTH"}}
	for _, e := range entries {
		if !wide {
			e.Commit, e.PreviousCommit = short(e.Commit), short(e.PreviousCommit)
		}
		row := table.Text(e.cells()...)
		row[len(row)-1].Style = stateStyles[e.Health]
		t.Add(row...)
	}
	return t
}

func writeCSV(w io.Writer, entries []releaseEntry) error {
	out := csv.NewWriter(w)
	_ = out.Write(releaseHeader)
	for _, e := range entries {
		cells := e.cells()
		for i := range cells {
			cells[i] = escape.CSV(cells[i])
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}
