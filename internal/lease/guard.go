// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// ErrExpired says that the lease is not provably ours any more, so nothing may
// be written.
var ErrExpired = errors.New("the leader lease has expired")

// Guard wraps the lock of leader election and remembers, on the monotonic clock,
// when the request that last renewed the lease was sent. Everybody else counts
// the lease's duration from when they saw that renewal, which was later.
type Guard struct {
	resourcelock.Interface
	clock    clock.PassiveClock
	deadline time.Duration

	mu      sync.Mutex
	renewed time.Time
}

// NewGuard guards lock. A renewal is good for deadline: the renew deadline of
// leader election, which is shorter than the lease's duration by what a request
// on the wire may take.
func NewGuard(lock resourcelock.Interface, deadline time.Duration, clock clock.PassiveClock) *Guard {
	return &Guard{Interface: lock, deadline: deadline, clock: clock}
}

// Create implements resourcelock.Interface.
func (g *Guard) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.renew(ctx, record, g.Interface.Create)
}

// Update implements resourcelock.Interface.
func (g *Guard) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.renew(ctx, record, g.Interface.Update)
}

// renew sends the record and, if it was taken and names us, moves the deadline.
// The leader gives its lease up by writing a record without a holder.
func (g *Guard) renew(ctx context.Context, record resourcelock.LeaderElectionRecord,
	send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	sent := g.clock.Now()
	if record.HolderIdentity != g.Identity() {
		g.set(time.Time{})
		return send(ctx, record)
	}
	if err := send(ctx, record); err != nil {
		return err
	}
	g.set(sent)
	return nil
}

func (g *Guard) set(renewed time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.renewed = renewed
}

// Check returns nil while the lease is ours by its deadline, and ErrExpired,
// wrapped with what is known, otherwise. Call it immediately before each write.
func (g *Guard) Check() error {
	g.mu.Lock()
	renewed := g.renewed
	g.mu.Unlock()
	if renewed.IsZero() {
		return fmt.Errorf("%w: it is not held by this process", ErrExpired)
	}
	// A machine that was suspended stops its monotonic clock and finds out by the
	// other one; a time of day that is set forward costs no more than one renewal.
	wall := g.clock.Now().Round(0).Sub(renewed.Round(0))
	if age := max(g.clock.Since(renewed), wall); age >= g.deadline {
		return fmt.Errorf("%w: last renewed %s ago", ErrExpired, age.Round(time.Millisecond))
	}
	return nil
}

// Unguarded is the check of a process that runs without leader election: it is
// the only one by the word of who started it.
func Unguarded() error { return nil }
