// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/internal/fleet"
)

// TestPinsAreReplacedValues: what was pinned from the ref counts as seen, so that a
// lagging replica is not believed by a process that has just started. A step is a
// listing of the letter, or with a colon before it what is pinned.
func TestPinsAreReplacedValues(t *testing.T) {
	t.Parallel()
	const interval = 90 * time.Second
	tests := []struct {
		name  string
		steps string
		want  string
	}{
		{name: "the pin itself", steps: ":a a", want: "a"},
		{name: "a candidate", steps: ":a b", want: "b"},
		{name: "a lagging replica before the admission", steps: ":a b a", want: "b"},
		{name: "a lagging replica after the admission", steps: ":a b :b a", want: "b"},
		{name: "pinned only after it was listed", steps: "b :a :b a", want: "b"},
		{name: "an earlier process admitted it a moment ago", steps: ":a :b a", want: ""},
		{name: "and its replica catches up", steps: ":a :b a b", want: "b"},
		{name: "and it was reset while nobody watched", steps: ":a :b a a", want: "a"},
		{name: "a deliberate reset", steps: ":a b :b a a", want: "a"},
		{name: "a pin that was never the head", steps: "a :x b", want: "b"},
		{name: "without pins", steps: "a b", want: "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var h fleet.History
			for i, step := range strings.Fields(tt.steps) {
				if pin, is := strings.CutPrefix(step, ":"); is {
					h.Pinned(fleet.Revision(pin))
					continue
				}
				at := fleet.Instant{Seq: uint64(i + 1), At: time.Duration(i+1) * interval}
				h.Accept(fleet.Listing{URL: testURL, Ref: testRef, Commit: fleet.Revision(step), Started: at, Completed: at}, interval)
			}
			var got fleet.Revision
			if latest := h.Latest(testURL, testRef); latest != nil {
				got = latest.Commit
			}
			NewWithT(t).Expect(got).To(Equal(fleet.Revision(tt.want)))
		})
	}
}
