// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

func (p *program) sourcesCommand() *cobra.Command {
	return p.watchable(&cobra.Command{
		Use:   "sources",
		Short: "List the sources in scope: pin, what waits, holds and owners",
		Long: `List the sources in scope.

PENDING is the commit that waits to be admitted. OWNERS are the field managers of
spec.ref.commit: any other than wavefront-controller holds the source. What the
GitRepositories say of themselves needs read access to them; without it those columns
show "?". -o wide adds the previous pin, the observed reference, fetch health and URL.`,
		Example: `  # Every source
  wfctl sources

  # Who owns which pin, and where it came from
  wfctl sources -o wide`,
		Args: noArgs,
	}, true, func(pic *picture.Picture, _ []string) (*result, error) { return p.sourcesResult(pic), nil })
}

func (p *program) sourcesResult(pic *picture.Picture) *result {
	n := &notes{program: p, pic: pic}
	n.nothing(pic)
	n.unobserved(pic)
	n.unread(pic, "OWNERS, ARTIFACT, ADMITTED")
	n.holds(pic)
	return &result{
		document: pic.Sources,
		notes:    n.lines,
		text: func(w io.Writer, wide, color bool) error {
			return sourcesTable(pic, p.moment(pic), wide).Write(w, color)
		},
	}
}

func sourcesTable(pic *picture.Picture, now time.Time, wide bool) *table.Table {
	t := &table.Table{Header: []string{"SOURCE", "PIN", "OBSERVED", "PENDING", "HOLD", "OWNERS", "ARTIFACT", "ADMITTED", "NODES"}}
	if wide {
		t.Header = append(t.Header, "PREVIOUS", "REF", "FETCH", "URL")
	}
	for _, s := range pic.Sources {
		d := detailText(s, now)
		row := table.Text(s.Path(), pinText(s), observedText(!declared(s.Hold), s.Observed), short(s.Pending()), holdText(s.Hold),
			d.owners, d.artifact, d.admitted, paths(s.Nodes))
		if wide {
			row = append(row, table.Text(d.previous, d.ref, d.fetch, d.url)...)
		}
		t.Add(row...)
	}
	return t
}

// pinText marks the would-be pin of a source without a real one.
func pinText(s picture.Source) string {
	if s.Virtual && s.Pin != "" {
		return short(s.Pin) + " (would-be)"
	}
	return short(s.Pin)
}

// detailCells are the columns that need the object itself.
type detailCells struct{ owners, artifact, admitted, previous, ref, fetch, url string }

func detailText(s picture.Source, now time.Time) detailCells {
	if s.Detail == nil {
		u := picture.Unknown
		return detailCells{u, u, u, u, u, u, u}
	}
	d := s.Detail
	c := detailCells{
		owners: strings.Join(d.Owners, ","), artifact: shortRevision(d.Artifact), admitted: d.AdmittedAt,
		previous: short(d.PreviousPin), ref: d.Tracks, fetch: d.Fetch(), url: d.URL,
	}
	if at, err := time.Parse(time.RFC3339, d.AdmittedAt); err == nil {
		c.admitted = age(now, at) + " ago"
	}
	return c
}

// shortRevision cuts the hash of a Flux revision.
func shortRevision(revision string) string {
	ref, hash, ok := strings.Cut(revision, "@sha1:")
	if !ok {
		return short(strings.TrimPrefix(revision, "sha1:"))
	}
	return strings.TrimPrefix(ref, "refs/heads/") + "@" + short(hash)
}
