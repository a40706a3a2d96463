// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

// eventsLive says how long the history reaches back.
const eventsLive = "the API server forgets events (after one hour, unless its --event-ttl says otherwise); for a longer memory send them to an Alert of notification-controller"

func (p *program) historyCommand() *cobra.Command {
	var format formatFlag
	var filter eventFilter
	var file string
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show what the controller and wfctl did, from their events",
		Long: `Show the events of the controller and of wfctl about this Wavefront, oldest first.

They are chosen by the objects that they regard and relate to, never by their text.
Events live as long as the API server keeps them, one hour by default.`,
		Example: `  # What happened to one source in the last half hour?
  wfctl history --source flotillas/team-x --since 30m

  # What went wrong?
  wfctl history --warnings`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pic, err := p.loadHistory(cmd.Context(), file)
			if err != nil {
				return err
			}
			events, err := filter.apply(pic.Events, p.moment(pic))
			if err != nil {
				return err
			}
			return p.print(p.historyResult(pic, events, filter), format.format)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.source, "source", "", "Only events about this source (namespace/name)")
	flags.StringVar(&filter.node, "node", "", "Only events about this node ([Kind/]namespace/name)")
	flags.StringSliceVar(&filter.reasons, "reason", nil, "Only events with these reasons")
	flags.DurationVar(&filter.since, "since", 0, "Only events of this last while (30m)")
	flags.BoolVar(&filter.warnings, "warnings", false, "Only warnings")
	flags.StringVar(&file, "from", "", "Replay a recorded snapshot from this file (- for standard input); needs no cluster")
	_ = cmd.RegisterFlagCompletionFunc("source", p.completeSources())
	_ = cmd.RegisterFlagCompletionFunc("node", p.completeNodes())
	_ = cmd.RegisterFlagCompletionFunc("reason", cobra.FixedCompletions(eventReasons(), cobra.ShellCompDirectiveNoFileComp))
	format.addTo(cmd)
	return cmd
}

func (p *program) loadHistory(ctx context.Context, file string) (*picture.Picture, error) {
	if file != "" {
		return p.replay(file)
	}
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	obj, err := p.findWavefront(ctx, c)
	if err != nil {
		return nil, err
	}
	pic := picture.OfStatus(obj, p.now())
	events, err := picture.Events(ctx, c, obj.Name)
	if err != nil {
		return nil, explainAPI("list Events", err)
	}
	pic.Events = events
	return pic, nil
}

// eventFilter chooses events.
type eventFilter struct {
	source, node string
	reasons      []string
	since        time.Duration
	warnings     bool
}

func (f eventFilter) apply(events []picture.Event, now time.Time) ([]picture.Event, error) {
	var about []picture.Ref
	for _, o := range []struct {
		arg   string
		kinds []string
	}{{f.source, []string{"GitRepository"}}, {f.node, []string{"Kustomization", "HelmRelease"}}} {
		if o.arg == "" {
			continue
		}
		ref, err := parseName(o.arg, o.kinds...)
		if err != nil {
			return nil, err
		}
		about = append(about, ref)
	}
	out := []picture.Event{}
	for _, e := range events {
		if f.takes(e, about, now) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f eventFilter) takes(e picture.Event, about []picture.Ref, now time.Time) bool {
	for _, ref := range about {
		if e.Regarding != ref && (e.Related == nil || *e.Related != ref) {
			return false
		}
	}
	if f.warnings && e.Type != "Warning" || f.since > 0 && now.Sub(e.At.Time) > f.since {
		return false
	}
	if len(f.reasons) == 0 {
		return true
	}
	for _, r := range f.reasons {
		if strings.EqualFold(r, e.Reason) {
			return true
		}
	}
	return false
}

func (p *program) historyResult(pic *picture.Picture, events []picture.Event, filter eventFilter) *result {
	n := &notes{program: p, pic: pic}
	if len(events) == 0 && len(pic.Events) > 0 {
		n.addf("none of %d events matches; %s shows all", len(pic.Events), p.run("history"))
		if filter.node != "" && filter.source == "" {
			n.addf("moves and holds are events of the source: %s", p.run("history --source NAMESPACE/NAME"))
		}
	}
	if pic.EventsUnread != "" {
		n.addf("the snapshot holds no events: %s", pic.EventsUnread)
	}
	n.addf("%s", eventsLive)
	now := p.moment(pic)
	return &result{document: events, notes: n.lines, text: func(w io.Writer, wide, color bool) error {
		return historyTable(events, now, wide).Write(w, color)
	}}
}

func historyTable(events []picture.Event, now time.Time, wide bool) *table.Table {
	t := &table.Table{Header: []string{"AGE", "TYPE", "REASON", "OBJECT", "NOTE"}}
	if wide {
		t.Header = []string{"TIME", "TYPE", "REASON", "ACTION", "BY", "COUNT", "OBJECT", "RELATED", "NOTE"}
	}
	for _, e := range events {
		kind := table.Cell{Text: e.Type}
		if e.Type == "Warning" {
			kind.Style = table.Warn
		}
		if !wide {
			t.Add(table.Cell{Text: age(now, e.At.Time)}, kind, table.Cell{Text: e.Reason}, table.Cell{Text: e.About().String()}, table.Cell{Text: e.Note})
			continue
		}
		related := ""
		if e.Related != nil {
			related = e.Related.String()
		}
		t.Add(table.Cell{Text: e.At.UTC().Format(time.RFC3339)}, kind, table.Cell{Text: e.Reason}, table.Cell{Text: e.Action},
			table.Cell{Text: e.Reporter}, table.Cell{Text: fmt.Sprint(max(1, e.Count))}, table.Cell{Text: e.Regarding.String()},
			table.Cell{Text: related}, table.Cell{Text: e.Note})
	}
	return t
}
