// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// Clock hands out the Instants of one process. All who order events against
// each other (observations, pins) must share one Clock. It is safe for
// concurrent use.
type Clock struct {
	clock clock.WithTicker
	start time.Time

	mu   sync.Mutex
	last fleet.Instant
}

// NewClock starts the time of the process at c's present.
func NewClock(c clock.WithTicker) *Clock {
	return &Clock{clock: c, start: c.Now()}
}

// Now returns the present Instant: later than every one returned before, even
// if the clock stood still or went back.
func (c *Clock) Now() fleet.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := max(c.clock.Since(c.start), c.last.At)
	c.last = fleet.Instant{Seq: c.last.Seq + 1, At: at}
	return c.last
}

// Since returns the monotonic time of the process without making an Instant.
func (c *Clock) Since() time.Duration { return c.clock.Since(c.start) }

// Time returns the time of day.
func (c *Clock) Time() time.Time { return c.clock.Now() }

// NewTimer returns a timer of the underlying clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer { return c.clock.NewTimer(d) }
