// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// grace is added to a Kustomization's timeout before an undecided object is no
// longer judged by its history, and is how long ArtifactFailed says nothing
// after the source's artifact moved.
const grace = time.Minute

// Reasons of a Ready condition that is False while the object is not bad.
const (
	dependencyNotReady  = "DependencyNotReady"
	healthCheckCanceled = "HealthCheckCanceled"
	artifactFailed      = "ArtifactFailed"
	sourceNotReady      = "SourceNotReady"
)

// judgeVerdict judges a Kustomization from its object alone (design: verdict of
// a Kustomization). Where its source carries a pin, only a verdict about the pin
// counts. The source is nil where it can't be read.
func (j *judge) judgeVerdict(n *Node, s *source) Verdict {
	var pin Revision
	if s != nil {
		pin = s.pin
	}
	about := func(r Revision) bool { return pin == "" || r.Same(pin) || j.lacks(attemptedRule) }
	switch {
	case n.Ready.Status == True && about(n.LastAttempted) && generationObserved(n):
		return Good
	case n.Ready.Status == True:
		return Undecided
	case n.Ready.Status == False && !j.excused(n, s):
		if about(n.LastAttempted) && generationTried(n) {
			return Bad
		}
		return Undecided
	case j.in.Clock.Sub(n.Ready.Since) > n.Timeout+grace:
		return Undecided
	case n.Last != nil && about(n.Last.Revision):
		return lastVerdict(n)
	case n.Last == nil && n.Remembered != nil:
		return rememberedVerdict(n)
	}
	return Undecided
}

// verdictChanges tells how long from now time alone changes the verdict; zero if
// it does not.
func (j *judge) verdictChanges(n *Node, v Verdict, s *source) time.Duration {
	if n.Ready.Status == True {
		return 0
	}
	var result time.Duration
	if v != Undecided {
		result = max(0, n.Ready.Since.Add(n.Timeout+grace).Sub(j.in.Clock)+1)
	}
	if n.Ready.Reason != artifactFailed {
		return result
	}
	if d := artifactAt(s).Add(grace).Sub(j.in.Clock); d > 0 && (result == 0 || d < result) {
		result = d
	}
	return result
}

// excused tells whether Ready is False for a reason that does not make the node
// bad: it waits for a dependency, a newer revision cancelled its health checks,
// or it looked for an artifact that had just been replaced.
func (j *judge) excused(n *Node, s *source) bool {
	switch n.Ready.Reason {
	case dependencyNotReady, healthCheckCanceled:
		return true
	case artifactFailed:
		return j.in.Clock.Sub(artifactAt(s)) < grace
	}
	return false
}

// artifactAt is when the source's artifact moved.
func artifactAt(s *source) time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.in.ArtifactAt
}

// lastVerdict reads the newest entry of the node's history.
func lastVerdict(n *Node) Verdict {
	switch {
	case n.Last.Succeeded && generationObserved(n):
		return Good
	case !n.Last.Succeeded && generationTried(n):
		return Bad
	}
	return Undecided
}

// rememberedVerdict is the last verdict of this process, where the object keeps
// no history.
func rememberedVerdict(n *Node) Verdict {
	if *n.Remembered == Good && !generationObserved(n) {
		return Undecided
	}
	return *n.Remembered
}

// generationObserved tells whether the object's status is about its present
// generation. Suspending bumps the generation and nobody observes it, so for a
// suspended object generations are ignored.
func generationObserved(n *Node) bool {
	return n.Suspended || n.ObservedGeneration == n.Generation
}

// generationTried tells whether the present generation has been tried, be it in
// vain: kustomize-controller moves status.observedGeneration on success only,
// but stamps the condition always.
func generationTried(n *Node) bool {
	return generationObserved(n) || n.Ready.ObservedGeneration == n.Generation
}
