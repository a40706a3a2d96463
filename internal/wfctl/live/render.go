// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/util/duration"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

// Screen is what is drawn on.
type Screen struct {
	Width, Height int
	Color         bool
	// Offset scrolls the nodes.
	Offset int
	// All lists settled nodes too, not only their number.
	All bool
}

// shares of the screen that the lower sections may take.
const (
	maxCulprits = 4
	maxMoves    = 8
	maxBar      = 30
)

var symbols = map[string]struct {
	symbol string
	style  table.Style
}{
	"Settled":    {"✔", table.Good},
	"Converging": {"◐", table.Busy},
	"Admissible": {"▶", table.Busy},
	"Pending":    {"○", table.Warn},
	"Unhealthy":  {"✗", table.Bad},
}

// painter draws lines.
type painter struct {
	screen Screen
	lines  []string
}

// add appends a line; parts are harmless or made so by the caller.
func (p *painter) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *painter) paint(text string, style table.Style) string {
	return table.Paint(text, style, p.screen.Color)
}

// Render draws the state. It never returns more lines than the screen has, nor
// longer ones than it is wide.
func (s *State) Render(screen Screen) string {
	top := &painter{screen: screen}
	s.head(top)
	if s.Picture == nil {
		return top.fit(nil, nil)
	}
	bottom := &painter{screen: screen}
	s.culprits(bottom)
	s.moves(bottom)
	middle := &painter{screen: screen}
	s.waves(middle)
	return top.fit(middle.lines, bottom.lines)
}

// Overflow is how many lines of nodes do not fit the screen: the largest offset
// that makes sense.
func (s *State) Overflow(screen Screen) int {
	if s.Picture == nil {
		return 0
	}
	top, middle, bottom := &painter{screen: screen}, &painter{screen: screen}, &painter{screen: screen}
	s.head(top)
	s.waves(middle)
	s.culprits(bottom)
	s.moves(bottom)
	return max(0, len(middle.lines)-room(screen, len(top.lines), len(bottom.lines)))
}

func room(screen Screen, top, bottom int) int { return max(0, screen.Height-top-bottom-1) }

// fit puts the sections together: the middle scrolls, the help is last.
func (p *painter) fit(middle, bottom []string) string {
	space := room(p.screen, len(p.lines), len(bottom))
	offset := min(p.screen.Offset, max(0, len(middle)-space))
	shown := middle[min(offset, len(middle)):]
	hidden := len(shown) - space
	if hidden > 0 && space > 0 {
		shown = append(append([]string{}, shown[:space-1]...), p.paint(fmt.Sprintf("  … %d more lines (↓)", hidden+1), table.Faint))
	}
	lines := append(append([]string{}, p.lines...), shown[:min(len(shown), space)]...)
	for len(lines) < p.screen.Height-len(bottom)-1 {
		lines = append(lines, "")
	}
	lines = append(lines, bottom...)
	lines = append(lines, p.paint("q quit · ↑↓ scroll · a all nodes", table.Faint))
	lines = lines[:min(len(lines), max(p.screen.Height, 0))]
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], p.screen.Width, "…")
	}
	return strings.Join(lines, "\n")
}

// head says how the fleet stands.
func (s *State) head(p *painter) {
	if s.Picture == nil {
		p.add("%s", p.paint("looking…", table.Faint))
	} else {
		w := s.Picture.Wavefront
		p.add("%s %s  %s  %s  %s", p.paint("Wavefront", table.Bold), escape.Terminal(w.Name),
			p.paint(escape.Terminal(string(w.Phase)), phaseStyle(w.Phase)), escape.Terminal(string(w.Mode)), p.paint(s.evaluated(), table.Faint))
		if w.Suspend {
			p.add("%s", p.paint("suspended: no source is moved", table.Warn))
		}
		if c := w.Counts; c != nil {
			p.add("%s %d/%d settled · %d pending · %d converging · %d unhealthy · %d blocked · %d held",
				p.bar(c.Settled, c.Observed), c.Settled, c.Observed, c.Pending, c.Converging, c.Unhealthy, c.Blocked, c.Held)
		}
		for _, line := range s.staleness() {
			p.add("%s", p.paint(line, table.Warn))
		}
	}
	if s.Err != nil {
		p.add("%s", p.paint("can't look: "+escape.Terminal(escape.Text(s.Err.Error())), table.Bad))
	}
	p.add("")
}

// staleSlack is added to the poll interval before the picture counts as stale.
const staleSlack = 30 * time.Second

func (s *State) evaluated() string {
	at := s.Picture.Wavefront.LastEvaluated
	if at == nil {
		return "never evaluated"
	}
	return "evaluated " + duration.HumanDuration(max(0, s.Now.Sub(at.Time))) + " ago"
}

func (s *State) staleness() []string {
	var out []string
	w := s.Picture.Wavefront
	if w.LastEvaluated != nil && s.Now.Sub(w.LastEvaluated.Time) > 2*(w.PollInterval.Duration+staleSlack) {
		out = append(out, "stale: is the controller running?")
	}
	for _, c := range w.Conditions {
		if c.Type == "Ready" && c.Status == "False" {
			out = append(out, "the last evaluation failed: "+escape.Terminal(c.Message))
		}
		if c.Type == wavefrontv1.GraphValidCondition && c.Status == "False" {
			out = append(out, "the graph is invalid: "+escape.Terminal(c.Message))
		}
	}
	return out
}

func phaseStyle(phase wavefrontv1.Phase) table.Style {
	switch phase {
	case wavefrontv1.PhaseQuiescent:
		return table.Good
	case wavefrontv1.PhaseBlocked:
		return table.Bad
	default:
		return table.Busy
	}
}

func (p *painter) bar(done, all int) string {
	width, filled := min(maxBar, p.screen.Width/6), 0
	if all > 0 {
		filled = min(width, max(0, done*width/all))
	}
	return p.paint(strings.Repeat("█", filled), table.Good) + p.paint(strings.Repeat("░", width-filled), table.Faint)
}

// waves lists the nodes wave by wave: settled ones by number, unless all are
// asked for.
func (s *State) waves(p *painter) {
	waves, cyclic := byWave(s.Picture.Nodes)
	for i, nodes := range waves {
		if len(nodes) > 0 {
			p.wave(fmt.Sprintf("Wave %d", i), nodes)
		}
	}
	if len(cyclic) > 0 {
		p.wave("In or behind a cycle", cyclic)
	}
	if n := s.Picture.Wavefront.MembersOmitted; n > 0 {
		p.add("%s", p.paint(fmt.Sprintf("and %d nodes that the status leaves out", n), table.Faint))
	}
}

func byWave(nodes []picture.Node) (waves [][]picture.Node, cyclic []picture.Node) {
	for _, n := range nodes {
		if n.Wave < 0 {
			cyclic = append(cyclic, n)
			continue
		}
		wave := min(n.Wave, len(nodes)-1)
		for len(waves) <= wave {
			waves = append(waves, nil)
		}
		waves[wave] = append(waves[wave], n)
	}
	return waves, cyclic
}

func (p *painter) wave(title string, nodes []picture.Node) {
	settled := 0
	for _, n := range nodes {
		if n.State == string(wavefrontv1.StateSettled) {
			settled++
		}
	}
	style := table.Plain
	if settled == len(nodes) {
		style = table.Good
	}
	p.add("%s  %s", p.paint(title, table.Bold), p.paint(fmt.Sprintf("%d/%d settled", settled, len(nodes)), style))
	for _, n := range nodes {
		if p.screen.All || n.State != string(wavefrontv1.StateSettled) {
			p.node(n)
		}
	}
}

func (p *painter) node(n picture.Node) {
	sym, ok := symbols[n.State]
	if !ok {
		sym.symbol = "?"
	}
	line := fmt.Sprintf("  %s %s %s", p.paint(sym.symbol, sym.style), escape.Terminal(n.Path()), p.paint(escape.Terminal(n.State), sym.style))
	if n.Pending() != "" {
		line += " " + short(escape.Terminal(n.Pin)) + " → " + short(escape.Terminal(n.Pending()))
	}
	switch trouble := troubleOf(&n); {
	case trouble != "":
		line += "  " + escape.Terminal(trouble)
	case n.Blocked != nil && n.Blocked.Ancestor != nil:
		line += "  " + escape.Terminal(n.Blocked.Reason+" "+n.Blocked.Ancestor.Path())
	case n.Blocked != nil:
		line += "  " + escape.Terminal(n.Blocked.Reason)
	}
	p.lines = append(p.lines, line)
}

// culprits says what blocks.
func (s *State) culprits(p *painter) {
	all := s.Culprits()
	if len(all) == 0 {
		return
	}
	p.add("%s", p.paint("What blocks", table.Bold))
	for _, c := range all[:min(len(all), maxCulprits)] {
		line := escape.Terminal(c.Node.Path())
		if c.Blocks > 0 {
			line += fmt.Sprintf(" holds up %d", c.Blocks)
		}
		p.add("  %s", line+": "+escape.Terminal(c.Why))
	}
	if left := len(all) - maxCulprits; left > 0 {
		p.add("%s", p.paint(fmt.Sprintf("  and %d more", left), table.Faint))
	}
}

// moves says what moved last, newest first.
func (s *State) moves(p *painter) {
	p.add("%s", p.paint("What moved last", table.Bold))
	if len(s.Moves) == 0 {
		p.add("%s", p.paint("  nothing since this view was opened", table.Faint))
		return
	}
	for i := len(s.Moves) - 1; i >= max(0, len(s.Moves)-maxMoves); i-- {
		m := s.Moves[i]
		p.add("  %s %s  %s", p.paint(m.At.Format(time.TimeOnly), table.Faint), escape.Terminal(m.Node.Path()),
			p.paint(escape.Terminal(m.Text), symbols[m.State].style))
	}
}

// Line renders a move for an output that is no terminal.
func (m Move) Line() string {
	return m.At.UTC().Format(time.RFC3339) + " " + escape.Terminal(m.Node.Path()) + " " + escape.Terminal(m.Text)
}

// Line sums the fleet up for an output that is no terminal.
func (s *State) Line() string {
	w := s.Picture.Wavefront
	line := s.Now.UTC().Format(time.RFC3339) + " " + escape.Terminal(w.Name) + " " + escape.Terminal(string(w.Phase))
	if c := w.Counts; c != nil {
		line += fmt.Sprintf(": %d/%d settled, %d pending, %d converging, %d unhealthy, %d blocked, %d held",
			c.Settled, c.Observed, c.Pending, c.Converging, c.Unhealthy, c.Blocked, c.Held)
	}
	return line
}
