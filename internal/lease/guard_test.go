// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// lock is a lock in memory that fails on demand.
type lock struct {
	resourcelock.Interface
	err error
}

func (l *lock) Identity() string { return "me" }
func (l *lock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	return l.err
}
func (l *lock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	return l.err
}

func TestGuard(t *testing.T) {
	t.Parallel()
	const deadline = 30 * time.Second
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	gone := resourcelock.LeaderElectionRecord{}

	tests := []struct {
		name    string
		steps   func(g *Guard, l *lock, c *clocktesting.FakePassiveClock) error
		wantErr string
	}{
		{
			name:    "never held",
			steps:   func(*Guard, *lock, *clocktesting.FakePassiveClock) error { return nil },
			wantErr: "it is not held by this process",
		},
		{
			name: "held",
			steps: func(g *Guard, _ *lock, c *clocktesting.FakePassiveClock) error {
				err := g.Create(context.Background(), mine)
				c.SetTime(c.Now().Add(deadline - 1))
				return err
			},
		},
		{
			name: "frozen past the deadline",
			steps: func(g *Guard, _ *lock, c *clocktesting.FakePassiveClock) error {
				err := g.Create(context.Background(), mine)
				c.SetTime(c.Now().Add(deadline))
				return err
			},
			wantErr: "last renewed 30s ago",
		},
		{
			name: "a failed renewal does not move the deadline",
			steps: func(g *Guard, l *lock, c *clocktesting.FakePassiveClock) error {
				if err := g.Create(context.Background(), mine); err != nil {
					return err
				}
				c.SetTime(c.Now().Add(deadline / 2))
				l.err = errors.New("refused")
				if err := g.Update(context.Background(), mine); err == nil {
					return errors.New("the renewal should have failed")
				}
				c.SetTime(c.Now().Add(deadline / 2))
				return nil
			},
			wantErr: "last renewed 30s ago",
		},
		{
			name: "given up",
			steps: func(g *Guard, _ *lock, _ *clocktesting.FakePassiveClock) error {
				if err := g.Create(context.Background(), mine); err != nil {
					return err
				}
				return g.Update(context.Background(), gone)
			},
			wantErr: "it is not held by this process",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l, c := &lock{}, clocktesting.NewFakePassiveClock(time.Now())
			guard := NewGuard(l, deadline, c)
			g.Expect(tt.steps(guard, l, c)).To(Succeed())
			err := guard.Check()
			if tt.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ErrExpired))
			g.Expect(err).To(MatchError(ContainSubstring(tt.wantErr)))
		})
	}
}

// suspended is the clock of a machine that slept: only its time of day went on.
type suspended struct {
	*clocktesting.FakePassiveClock
	slept time.Duration
}

func (c *suspended) Now() time.Time { return c.FakePassiveClock.Now().Add(c.slept) }

// TestGuardOfASuspendedMachine: the lease of a machine that slept is not its own.
func TestGuardOfASuspendedMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := &suspended{FakePassiveClock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	guard := NewGuard(&lock{}, 30*time.Second, clock)
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	g.Expect(guard.Create(context.Background(), mine)).To(Succeed())
	clock.slept = time.Hour
	g.Expect(guard.Check()).To(MatchError(ErrExpired))
	g.Expect(guard.Update(context.Background(), mine)).To(Succeed())
	g.Expect(guard.Check()).To(Succeed())
	clock.slept = 0
	g.Expect(guard.Check()).To(Succeed(), "a time of day that is set back changes nothing")
}
