// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

// releasesOf are the releases that count for a node: those it applied, and those
// that no node of its source applied.
func (j *judge) releasesOf(s *source, v int32) []int32 {
	if len(s.releases) == 0 {
		return nil
	}
	if len(s.nodes) == 1 {
		return s.releases
	}
	var result []int32
	for _, r := range s.releases {
		if by := j.in.Releases[r].AppliedBy; by == j.nodeIDs[v] || !j.appliedBySibling(s, by) {
			result = append(result, r)
		}
	}
	return result
}

// appliedBySibling tells whether the ID is that of a node of the source.
func (j *judge) appliedBySibling(s *source, by ID) bool {
	for _, v := range s.nodes {
		if j.nodeIDs[v] == by {
			return true
		}
	}
	return false
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
