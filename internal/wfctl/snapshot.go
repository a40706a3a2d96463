// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func (p *program) snapshotCommand() *cobra.Command {
	var from pictureFlags
	var format, file string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Record the whole picture, for a ticket or for --from",
		Long: `Record the whole picture: Wavefront, nodes, sources, recent events and lint's findings,
as far as they may be read. It holds no secrets, no credentials and no user information
of URLs, so it can go into a ticket; every command that reads, watch excepted, replays it with
--from.`,
		Example: `  # Record now, look later
  wfctl snapshot --file incident.yaml
  wfctl explain --from incident.yaml flotillas/team-x`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pic, err := p.load(cmd.Context(), &from, true)
			if err != nil {
				return err
			}
			if !pic.Replayed {
				if err := p.record(cmd.Context(), pic); err != nil {
					return err
				}
			}
			return p.writeSnapshot(pic, format, file)
		},
	}
	from.addTo(cmd)
	newChoice(&format, formatYAML, formatYAML, formatJSON).addTo(cmd, "output", "o", "Format of the snapshot")
	cmd.Flags().StringVarP(&file, "file", "f", "", "Write to this file instead of standard output")
	return cmd
}

// record adds to the picture what only snapshots hold.
func (p *program) record(ctx context.Context, pic *picture.Picture) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	events, err := picture.Events(ctx, c, pic.Wavefront.Name)
	if err != nil {
		pic.EventsUnread = escape.Text(err.Error())
		p.warning("events are not recorded: %s", pic.EventsUnread)
	}
	pic.Events = events
	pic.Findings, err = p.lint(ctx, c, pic.Wavefront.Name)
	if err != nil {
		pic.FindingsUnread = escape.Text(err.Error())
		p.warning("lint's findings are not recorded: %s", pic.FindingsUnread)
	}
	if pic.SourcesUnread != "" {
		p.warning("what GitRepositories say of themselves is not recorded: %s", pic.SourcesUnread)
	}
	return nil
}

func (p *program) writeSnapshot(pic *picture.Picture, format, file string) error {
	var out bytes.Buffer
	if err := p.render(&out, &result{document: pic}, format); err != nil {
		return err
	}
	if file == "" {
		_, err := p.streams.Out.Write(out.Bytes())
		return err
	}
	// Names of workloads and commits are nobody else's business.
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("failed to write the snapshot: %w", err)
	}
	p.success("recorded %d nodes and %d sources of Wavefront %q in %s", len(pic.Nodes), len(pic.Sources), pic.Wavefront.Name, file)
	return nil
}
