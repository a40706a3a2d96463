// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// watchFlag makes a read command print anew whenever what it shows changed.
type watchFlag struct {
	watch bool
	every time.Duration
}

// minEvery keeps a watch from hammering the API server.
const minEvery = time.Second

func (f *watchFlag) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "Print again whenever something changed, until interrupted")
	cmd.Flags().DurationVar(&f.every, "every", 2*time.Second, "With --watch: how often to look")
}

// watchable completes a read command that shows one picture, once or with --watch:
// its flags, and what it runs. Details are what the sources say of themselves.
func (p *program) watchable(cmd *cobra.Command, details bool, show func(*picture.Picture, []string) (*result, error)) *cobra.Command {
	var from pictureFlags
	var format formatFlag
	var again watchFlag
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.readAgain(cmd.Context(), &from, again, format.format, func(ctx context.Context) (*result, error) {
			pic, err := p.load(ctx, &from, details)
			if err != nil {
				return nil, err
			}
			return show(pic, args)
		})
	}
	from.addTo(cmd)
	format.addTo(cmd)
	again.addTo(cmd)
	return cmd
}

// readAgain runs a read command once, or again and again. A watch says what
// fails and goes on: the controller or the API server may be restarting, which
// is when one watches.
func (p *program) readAgain(ctx context.Context, from *pictureFlags, f watchFlag, format string, read func(context.Context) (*result, error)) error {
	if !f.watch {
		r, err := read(ctx)
		if err != nil {
			return err
		}
		return p.print(r, format)
	}
	if from.from != "" {
		return errors.New("failed to watch: --from replays what was recorded, nothing will change")
	}
	if f.every < minEvery {
		return fmt.Errorf("failed to watch: --every must be at least %s", minEvery)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	var last []byte
	for {
		if now, err := p.show(ctx, last, format, read); err != nil {
			p.failure(err)
		} else {
			last = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// show prints what read found, unless it looks like the last time.
func (p *program) show(ctx context.Context, last []byte, format string, read func(context.Context) (*result, error)) ([]byte, error) {
	r, err := read(ctx)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := p.render(&out, r, format); err != nil {
		return nil, err
	}
	if bytes.Equal(out.Bytes(), last) {
		return last, nil
	}
	if last != nil && format != formatJSON {
		if _, err := fmt.Fprintln(p.streams.Out, "---"); err != nil {
			return nil, err
		}
	}
	_, err = p.streams.Out.Write(out.Bytes())
	return out.Bytes(), err
}
