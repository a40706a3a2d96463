// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/live"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func (p *program) watchCommand() *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow the rollout live: waves, states, what moved last, what blocks",
		Long: `Follow the rollout live, full screen: waves with their states, what moved last and what
blocks. q quits, the arrows scroll, a lists settled nodes too. The view follows the size
of the terminal and works over ssh. Where standard output is no terminal it is told line
by line.`,
		Example: `  wfctl watch
  wfctl watch | tee rollout.log`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < minEvery {
				return fmt.Errorf("failed to watch: --every must be at least %s", minEvery)
			}
			return p.watch(cmd.Context(), every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", minEvery, "How often to look")
	return cmd
}

func (p *program) watch(ctx context.Context, every time.Duration) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	// The first look is made here, so that a mistake is told as an error and
	// not on a screen that is about to close.
	obj, err := p.findWavefront(ctx, c)
	if err != nil {
		return err
	}
	name := obj.Name
	o := live.Options{Every: every, Now: p.now, Color: p.colored(), Look: func(ctx context.Context) (*picture.Picture, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		obj, err := p.getWavefront(ctx, c, name)
		if err != nil {
			return nil, err
		}
		return picture.OfStatus(obj, p.now()), nil
	}}
	if p.colorable() && p.getenv("TERM") != "dumb" {
		return live.FullScreen(ctx, o, p.streams.In, p.streams.Out)
	}
	return live.Lines(ctx, o, p.streams.Out)
}
