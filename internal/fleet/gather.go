// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"strings"
)

// prepare finds scope, nodes and sources.
func (j *judge) prepare(out *Evaluation) {
	for i := range j.in.Peers {
		if p := j.in.Peers[i]; p.Name != j.in.Self.Name && !p.Deleting {
			j.peers = append(j.peers, p)
		}
	}
	slices.SortStableFunc(j.peers, func(a, b Wavefront) int { return strings.Compare(a.Name, b.Name) })
	j.peerIndex = make(map[string]int32, len(j.peers))
	for i := range j.peers {
		j.peerIndex[j.peers[i].Name] = int32(i)
	}
	scopes := j.scopes()
	j.gatherNodes(scopes)
	j.gatherSources(scopes)
	j.gatherReleases()
	j.reportCycles(out)
	j.overlaps(scopes, out)
}

// gatherSources finds the keeper of every source and its nodes in the graph.
func (j *judge) gatherSources(scopes []scope) {
	for p := range j.sources {
		s := &j.sources[p]
		s.culprit, s.keeper, s.nodes = none, none, j.membersOf(int32(p))
		if len(s.nodes) == 0 {
			continue
		}
		s.keeper, s.suspended = j.keeper(&scopes[p]), scopes[p].suspended
		if s.keeper == self {
			j.kept++
		}
	}
}

// membersOf are the nodes of a source that belong to the graph.
func (j *judge) membersOf(source int32) []int32 {
	all := j.built.of(source)
	outsider := func(v int32) bool { return !j.nodes[v].member }
	if !slices.ContainsFunc(all, outsider) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), outsider)
}

// gatherReleases hands each release to its source and to the node of that which
// applied it, in the order of their IDs.
func (j *judge) gatherReleases() {
	if len(j.in.Releases) == 0 {
		return
	}
	j.releases, j.applied = make([][]int32, len(j.nodes)), make([][]int32, len(j.nodes))
	order, all := make([]int32, len(j.in.Releases)), newNames(len(j.in.Releases))
	for i := range order {
		order[i] = int32(i)
		all.turnTo(&j.in.Releases[i].ID)
		all.add(j.in.Releases[i].ID.Name)
	}
	all.sort(order)
	for _, r := range order {
		release := &j.in.Releases[r]
		v := j.findSource(&release.Source)
		if v == none {
			continue
		}
		s := &j.sources[v]
		s.releases = append(s.releases, r)
		if by := j.nodeIndex.at(&release.AppliedBy); by != none && j.builtFrom[by] == v {
			j.applied[by] = append(j.applied[by], r)
		} else {
			s.strays = append(s.strays, r)
		}
	}
}

// releasesAt are the releases that count for a node; none for a gate.
func (j *judge) releasesAt(v int32) []int32 {
	if j.releases == nil {
		return nil
	}
	return j.releases[v]
}
