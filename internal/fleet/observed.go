// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// effectivePin is the pin that every rule speaks of: the real one; in Shadow,
// where there is none, the virtual one; and in Shadow where nothing has been
// assumed yet, the artifact that an initial pin would freeze. Sources of peers
// are judged by their real pins only.
func (j *judge) effectivePin(s *source) (pin Revision, real bool) {
	if s.in.Pin != "" {
		return s.in.Pin, true
	}
	if s.keeper != self || j.in.Self.Mode != Shadow {
		return "", false
	}
	if s.in.VirtualPin != "" {
		return s.in.VirtualPin, false
	}
	if s.hold == nil && artifactOfRef(s.in) {
		return s.in.Artifact, false
	}
	return "", false
}

// neverPinned tells whether the source has never carried a pin, real or virtual.
func (s *source) neverPinned() bool {
	return s.pin == "" && s.in.Record == "" && !s.in.VoidRecord
}

// count finds the observation that counts, and what it says.
func (j *judge) count(s *source) {
	if s.counting = j.countingObservation(s.in); s.counting != nil {
		s.counted, s.seen, s.since = true, s.counting.Commit, s.counting.Started
	} else {
		s.since = awaitedSince(s.in)
	}
}

// observe tells whether the source can be observed at all, and whether it has a
// candidate.
func (j *judge) observe(s *source) {
	s.observed = needsObservation(s)
	s.stale = s.counted && j.outdated(s.since)
	s.unseen = s.observed && j.unobservable(s)
	if s.counted && s.pin != "" && !s.seen.Same(s.pin) && !j.chosenByGit(s) {
		s.candidate = s.seen
	}
}

// needsObservation tells whether somebody has to ask the git host: not for a
// commit that Git itself chose, nor for a held source that was never pinned,
// nor for a reference that is not sequenced any more.
func needsObservation(s *source) bool {
	switch {
	case s.hold == nil:
		return true
	case s.hold.Reason == Declared, s.hold.Reason == UnsupportedRef:
		return false
	}
	return !s.neverPinned()
}

// chosenByGit tells whether Git renders the commit: nothing is pending then.
func (j *judge) chosenByGit(s *source) bool {
	return s.hold != nil && s.hold.Reason == Declared && !j.lacks(declaredRule)
}

// countingObservation returns the observation that counts (design: which
// observation counts): one of the present URL and ref that started after this
// process saw the pin become what it is now, and replicaLag after that; nil if
// there is none.
func (j *judge) countingObservation(s *Source) *Observation {
	o := s.Observed
	if o == nil || s.Ref == "" || o.URL != s.URL || o.Ref != s.Ref || o.Commit == "" {
		return nil
	}
	if !o.Started.After(s.PinSeen, j.in.Self.ReplicaLag) && !j.lacks(pinSeenRule) {
		return nil
	}
	return o
}

// outdated tells whether a moment is longer ago than staleAfter.
func (j *judge) outdated(i Instant) bool {
	return j.in.Now.At-i.At > j.in.Self.StaleAfter
}

// unobservable tells whether the source can't be observed: its observation is
// stale, or there is none because listing fails or has been overdue for as long
// as an observation lasts. One that is merely on its way is no trouble.
func (j *judge) unobservable(s *source) bool {
	if s.counted {
		return s.stale
	}
	return s.in.ObservationError != "" || j.outdated(s.since)
}

// awaitedSince is the moment since which the source's observation is awaited.
func awaitedSince(s *Source) Instant {
	if s.Observed != nil && s.Observed.Started.Seq > s.PinSeen.Seq {
		return s.Observed.Started
	}
	return s.PinSeen
}
