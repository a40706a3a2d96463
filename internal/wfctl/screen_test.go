// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/live"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func pictureOf(f *fixture) *picture.Picture { return picture.OfStatus(f.wavefront, fixtureNow) }

func TestScreens(t *testing.T) {
	t.Parallel()
	sizes := map[string]live.Screen{
		"80x24":   {Width: 80, Height: 24},
		"40x10":   {Width: 40, Height: 10},
		"160x50":  {Width: 160, Height: 50, Color: true, All: true},
		"80x24-3": {Width: 80, Height: 24, Offset: 3},
		"1x1":     {Width: 1, Height: 1},
	}
	for scenario, build := range scenarios {
		for size, screen := range sizes {
			t.Run(scenario+"/"+size, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				var s live.State
				s.See(pictureOf(build()), nil, fixtureNow)
				got := s.Render(screen)
				lines := strings.Split(got, "\n")
				g.Expect(len(lines)).To(BeNumerically("<=", screen.Height))
				for _, l := range lines {
					g.Expect(ansi.StringWidth(l)).To(BeNumerically("<=", screen.Width), l)
				}
				g.Expect(escape.Printable([]byte(ansi.Strip(got)))).To(BeTrue())
				compareGolden(t, "screens/"+scenario+"-"+size, []byte(got))
			})
		}
	}
}

func TestScreenBeforeAndDuringTrouble(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	screen := live.Screen{Width: 60, Height: 8}
	var s live.State
	g.Expect(s.Render(screen)).To(ContainSubstring("looking"))
	s.See(nil, errors.New("connection refused \x1b[2J"), fixtureNow)
	g.Expect(s.Render(screen)).To(And(ContainSubstring(`can't look: connection refused \x1b[2J`), Not(ContainSubstring("\x1b"))))
	s.See(pictureOf(quiescent()), nil, fixtureNow)
	s.See(nil, errors.New("gone"), fixtureNow.Add(10*time.Minute))
	g.Expect(s.Render(screen)).To(And(ContainSubstring("Quiescent"), ContainSubstring("can't look"), ContainSubstring("stale")))
}

// moving is a fleet at one moment of a rollout.
func moving(state string, pin, observed string) *picture.Picture {
	f := newFixture(wavefrontv1.ModeEnforce, wavefrontv1.PhaseAdvancing).
		node("flotillas/app", state, 0, func(m *wavefrontv1.Member) { m.Pin, m.ObservedSHA = commit(pin), commit(observed) })
	return pictureOf(f)
}

func TestMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var s live.State
	g.Expect(s.See(moving("Settled", "a", "a"), nil, fixtureNow)).To(BeEmpty())
	var texts []string
	for _, p := range []*picture.Picture{moving("Pending", "a", "b"), moving("Converging", "b", "b"), moving("Converging", "b", "b"), moving("Settled", "b", "b")} {
		for _, m := range s.See(p, nil, fixtureNow) {
			texts = append(texts, m.Text)
		}
	}
	g.Expect(texts).To(Equal([]string{
		"Settled -> Pending, new commit bbbbbbbb",
		"aaaaaaaa -> bbbbbbbb, Pending -> Converging",
		"Converging -> Settled",
	}))
	for i := range 1000 {
		s.See(moving("Settled", fmt.Sprint(i%2), "0"), nil, fixtureNow)
	}
	g.Expect(len(s.Moves)).To(BeNumerically("<=", 200))
}

func TestLines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := []func() (*picture.Picture, error){
		func() (*picture.Picture, error) { return moving("Pending", "a", "b"), nil },
		func() (*picture.Picture, error) { return nil, errors.New("refused") },
		func() (*picture.Picture, error) { return nil, errors.New("refused") },
		func() (*picture.Picture, error) { return moving("Settled", "b", "b"), nil },
		func() (*picture.Picture, error) { cancel(); return nil, ctx.Err() },
	}
	var out bytes.Buffer
	err := live.Lines(ctx, live.Options{Every: time.Millisecond, Now: func() time.Time { return fixtureNow }, Look: func(context.Context) (*picture.Picture, error) {
		look := looks[0]
		looks = looks[1:]
		return look()
	}}, &out)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Split(strings.TrimSpace(out.String()), "\n")).To(Equal([]string{
		"2026-03-14T03:07:00Z fleet Advancing: 0/1 settled, 1 pending, 0 converging, 0 unhealthy, 0 blocked, 0 held",
		"2026-03-14T03:07:00Z can't look: refused",
		"2026-03-14T03:07:00Z flotillas/app aaaaaaaa -> bbbbbbbb, Pending -> Settled",
		"2026-03-14T03:07:00Z fleet Advancing: 1/1 settled, 0 pending, 0 converging, 0 unhealthy, 0 blocked, 0 held",
	}))
}
