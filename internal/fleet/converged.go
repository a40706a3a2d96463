// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "slices"

// releasesOf are the releases that count for a node, in the order of their IDs:
// those it applied, and those that no node of its source applied, be it a node of the
// graph or not.
func (j *judge) releasesOf(s *source, v int32) []int32 {
	switch own := j.applied[v]; {
	case len(s.strays) == 0:
		return own
	case len(own) == 0:
		return s.strays
	default:
		all := slices.Concat(own, s.strays)
		slices.SortFunc(all, func(a, b int32) int { return compareIDs(&j.in.Releases[a].ID, &j.in.Releases[b].ID) })
		return all
	}
}

// chartsConverged tells whether everything that the node built as a chart is on
// the source's artifact (design: charts).
func (j *judge) chartsConverged(s *source, v int32) bool {
	if j.lacks(chartsRule) {
		return true
	}
	for _, i := range j.releasesAt(v) {
		if r := &j.in.Releases[i]; !chartConverged(r.Chart, s.in.Artifact) || !releaseConverged(r) {
			return false
		}
	}
	return true
}

// chartConverged tells whether the chart exists, is ready and was built from the
// artifact.
func chartConverged(c *Chart, artifact Revision) bool {
	return c != nil && c.Ready.Status == True && c.ObservedGeneration == c.Generation &&
		c.ObservedSource.Same(artifact)
}

// releaseConverged tells whether the release is literally ready, at its present
// generation, with the chart that is there now. For a suspended object
// generations are ignored.
func releaseConverged(r *Release) bool {
	present := r.ObservedGeneration == r.Generation && r.LastAttemptedGeneration == r.Generation
	return r.Ready.Status == True && (present || r.Suspended) &&
		r.LastAttemptedRevision != "" && r.LastAttemptedRevision == r.Chart.Version
}

// releaseTrouble says why a chart or release of the node is bad; empty if none
// is. One that waits for something else is not bad by itself.
func (j *judge) releaseTrouble(v int32) string {
	for _, i := range j.releasesAt(v) {
		r := &j.in.Releases[i]
		if c := r.Chart; c != nil && c.Ready.Status == False && generationFailed(c.Ready, c.ObservedGeneration, c.Generation) {
			return notReady(c.ID, c.Ready)
		}
		if r.Ready.Status == False && !waits(r) &&
			(r.Suspended || generationFailed(r.Ready, r.ObservedGeneration, r.Generation)) {
			return notReady(r.ID, r.Ready)
		}
	}
	return ""
}

// waits tells whether a release that is not ready waits for another object.
func waits(r *Release) bool {
	return r.Ready.Reason == dependencyNotReady || r.Ready.Reason == sourceNotReady
}

// generationFailed tells whether a failure is about the present generation.
func generationFailed(c Condition, observed, generation int64) bool {
	return observed == generation || c.ObservedGeneration == generation
}
