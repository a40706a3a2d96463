// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// Look reads the fleet.
type Look func(context.Context) (*picture.Picture, error)

// Options of a live view.
type Options struct {
	Look  Look
	Every time.Duration
	Now   func() time.Time
	Color bool
}

// FullScreen shows the rollout on a terminal until the person quits or the
// context ends.
func FullScreen(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	m := &model{ctx: ctx, options: o, screen: Screen{Width: 80, Height: 24, Color: o.Color}}
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)).Run()
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to show the live view: %w", err)
	}
	return nil
}

// model is the live view as the terminal library drives it.
type model struct {
	ctx     context.Context
	options Options
	state   State
	screen  Screen
}

// looked is the outcome of a look, due the wish for the next.
type (
	looked struct {
		picture *picture.Picture
		err     error
	}
	due struct{}
)

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return m.look }

func (m *model) look() tea.Msg {
	p, err := m.options.Look(m.ctx)
	return looked{p, err}
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case looked:
		m.state.See(msg.picture, msg.err, m.options.Now())
		return m, tea.Tick(m.options.Every, func(time.Time) tea.Msg { return due{} })
	case due:
		return m, m.look
	case tea.WindowSizeMsg:
		m.screen.Width, m.screen.Height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

// key obeys a key.
func (m *model) key(key string) tea.Cmd {
	page := max(1, m.screen.Height/2)
	switch key {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "a":
		m.screen.All = !m.screen.All
	case "up", "k":
		m.screen.Offset--
	case "down", "j":
		m.screen.Offset++
	case "pgup":
		m.screen.Offset -= page
	case "pgdown", "space":
		m.screen.Offset += page
	case "home", "g":
		m.screen.Offset = 0
	}
	m.screen.Offset = max(0, min(m.screen.Offset, m.state.Overflow(m.screen)))
	return nil
}

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(m.state.Render(m.screen))
	v.AltScreen = true
	return v
}

// Lines tells the rollout line by line until the context ends: a summary when it
// changes, and each move.
func Lines(ctx context.Context, o Options, out io.Writer) error {
	var state State
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	last := ""
	for {
		p, err := o.Look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		for _, m := range state.See(p, err, o.Now()) {
			if _, err := fmt.Fprintln(out, m.Line()); err != nil {
				return err
			}
		}
		line := ""
		switch {
		case err != nil:
			line = state.Now.UTC().Format(time.RFC3339) + " can't look: " + escape.Terminal(escape.Text(err.Error()))
		case p != nil:
			line = state.Line()
		}
		if _, said, _ := strings.Cut(line, " "); said != last {
			last = said
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
