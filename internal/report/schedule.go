// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
)

const (
	// minGap is the least time between two writes of a status.
	minGap = time.Second
	// sizePerSecond is how many bytes of status cost one more second between
	// two writes: every write goes through etcd and to every watcher in full.
	sizePerSecond = 128 << 10
)

// digest of what counts as the content of a status.
type digest [sha256.Size]byte

// schedule says when a status must be written.
type schedule struct {
	// written is the digest and size of what the API server has, and when it
	// was written (zero: by another process, or never).
	written   digest
	size      int
	writtenAt time.Time
	// renderedAt is when the status was last rendered.
	renderedAt time.Time
	// heartbeat is the lastEvaluated that was written.
	heartbeat time.Time
}

func newSchedule(wf *wavefrontv1.Wavefront) schedule {
	var s schedule
	s.written, s.size = fingerprint(&wf.Status)
	if wf.Status.LastEvaluated != nil {
		s.heartbeat = wf.Status.LastEvaluated.Time
	}
	return s
}

// wait returns how long rendering has to wait: a write for as long as the gap,
// and mere rendering of a large status for its share of the gap.
func (s schedule) wait(now time.Time) time.Duration {
	penalty := time.Duration(s.size) * time.Second / sizePerSecond
	return max(
		s.writtenAt.Add(minGap+penalty).Sub(now),
		s.renderedAt.Add(penalty).Sub(now),
	)
}

// untilHeartbeat returns how long it is to the next heartbeat. One from the future was
// written by a clock that was set back since, or that of another leader.
func (s schedule) untilHeartbeat(now time.Time, interval time.Duration) time.Duration {
	if s.heartbeat.After(now) {
		return 0
	}
	return s.heartbeat.Add(interval).Sub(now)
}

// fingerprint returns the digest and size of a status without what moves by
// itself: the heartbeat, and the words of troubles and observation errors, which
// quote others and often count seconds or attempts. (That there is a trouble
// counts.) They are brought up to date with the next write, at the latest by the
// heartbeat.
func fingerprint(status *wavefrontv1.WavefrontStatus) (digest, int) {
	bare := *status
	bare.LastEvaluated = nil
	bare.Members = make([]wavefrontv1.Member, len(status.Members))
	words := 0
	for i, m := range status.Members {
		words += len(m.Trouble) + len(m.ObservationError)
		m.Trouble, m.ObservationError = some(m.Trouble), some(m.ObservationError)
		bare.Members[i] = m
	}
	// A status holds nothing that can't be encoded.
	data, _ := json.Marshal(&bare)
	return sha256.Sum256(data), len(data) + words
}

// some stands for words that are there.
func some(words string) string {
	if words == "" {
		return ""
	}
	return "x"
}
