// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// staleMargin is added to the poll interval before a status counts as stale.
const staleMargin = 30 * time.Second

// pictureFlags say where a read command's picture comes from.
type pictureFlags struct {
	derive bool
	poll   bool
	from   string
}

func (f *pictureFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.derive, "derive", false, "Judge the fleet anew, live, through the controller's own rules")
	flags.BoolVar(&f.poll, "poll", false, "With --derive: list the references from the git servers as well")
	flags.StringVar(&f.from, "from", "", "Replay a recorded snapshot from this file (- for standard input); needs no cluster")
	_ = cmd.MarkFlagFilename("from", "yaml", "yml", "json")
}

func (f *pictureFlags) validate() error {
	switch {
	case f.poll && !f.derive:
		return fmt.Errorf("failed to read the flags: --poll lists references for --derive; give both")
	case f.from != "" && f.derive:
		return fmt.Errorf("failed to read the flags: --from replays what was recorded; --derive can't be combined with it")
	}
	return nil
}

// load returns the picture that the flags ask for. details asks for what the
// GitRepositories say of themselves, as far as they may be read.
func (p *program) load(ctx context.Context, f *pictureFlags, details bool) (*picture.Picture, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	if f.from != "" {
		return p.replay(f.from)
	}
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	obj, err := p.findWavefront(ctx, c)
	if err != nil {
		return nil, err
	}
	if f.derive {
		return p.derive(ctx, c, obj, f.poll)
	}
	pic := picture.OfStatus(obj, p.now())
	if details {
		pic.AddDetails(ctx, c)
	}
	p.warnStale(pic)
	return pic, nil
}

func (p *program) replay(file string) (*picture.Picture, error) {
	in := p.streams.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("failed to open the snapshot: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	pic, err := picture.Read(in)
	if err != nil {
		return nil, err
	}
	if p.wavefront != "" && p.wavefront != pic.Wavefront.Name {
		return nil, fmt.Errorf("failed to replay the snapshot: it is of Wavefront %q, not of %q", pic.Wavefront.Name, p.wavefront)
	}
	p.note("snapshot taken at %s", pic.Taken.UTC().Format(time.RFC3339))
	p.warnStale(pic)
	return pic, nil
}

// moment is the time that ages are told from: a replayed picture is as old as
// it was when it was taken.
func (p *program) moment(pic *picture.Picture) time.Time {
	if pic.Replayed {
		return pic.Taken.Time
	}
	return p.now()
}

// warnStale warns where the published picture should not be trusted.
func (p *program) warnStale(pic *picture.Picture) {
	if pic.Origin != picture.FromStatus {
		return
	}
	remedy := "check the controller (kubectl -n flux-system logs deploy/wavefront-controller), or judge anew with --derive"
	w := pic.Wavefront
	limit := 2 * (w.PollInterval.Duration + staleMargin)
	switch {
	case w.LastEvaluated == nil:
		p.warning("Wavefront %q has never been evaluated: %s", w.Name, remedy)
	case p.moment(pic).Sub(w.LastEvaluated.Time) > limit:
		p.warning("stale: last evaluated %s ago, expected every %s: %s",
			age(p.moment(pic), w.LastEvaluated.Time), w.PollInterval.Duration, remedy)
	}
	for _, c := range w.Conditions {
		if c.Type == "Ready" && c.Status == "False" {
			p.warning("the last evaluation failed, what is shown is older: %s: %s", c.Reason, c.Message)
		}
	}
	if w.ObservedGeneration < w.Generation && w.LastEvaluated != nil {
		p.warning("the spec changed (generation %d) and was not evaluated yet (%d)", w.Generation, w.ObservedGeneration)
	}
	if w.MembersOmitted > 0 {
		p.warning("%d nodes are left out of the list: a status has to stay under 1 MiB, settled nodes go first; see all with --derive", w.MembersOmitted)
	}
}

// age renders how long ago a moment was.
func age(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}
