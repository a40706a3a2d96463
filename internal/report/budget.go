// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/fleet"
)

const (
	// maxStatus bounds the status in bytes: below 1 MiB, with room for the rest
	// of the object. (etcd refuses requests beyond 1.5 MiB.)
	maxStatus = 1<<20 - 16<<10
	// maxCoAdmitted bounds the list of co-admitted groups, in bytes.
	maxCoAdmitted = 32 << 10
)

// fit adds as many members as the byte budget allows. Settled ones are left out
// first, then those on their way; within a class the last ones by name.
// Everything else of the status is there already and stays.
func fit(status *wavefrontv1.WavefrontStatus, members []wavefrontv1.Member) {
	_, base := fingerprint(status)
	room := maxStatus - base - len(`,"members":[],"membersOmitted":123456,"lastEvaluated":"2006-01-02T15:04:05Z"`)
	sizes := make([]int, len(members))
	total := 0
	for i := range members {
		sizes[i] = sizeOf(&members[i])
		total += sizes[i]
	}
	if total <= room {
		status.Members = members
		return
	}
	kept := pick(members, sizes, room)
	status.MembersOmitted = len(members) - len(kept)
	status.Members = kept
}

// pick keeps the members that matter most, in their order.
func pick(members []wavefrontv1.Member, sizes []int, room int) []wavefrontv1.Member {
	keep := make([]bool, len(members))
	count := 0
	for _, class := range []int{exceptional, moving, settled} {
		for i := range members {
			if classOf(&members[i]) != class || sizes[i] > room {
				continue
			}
			keep[i] = true
			room -= sizes[i]
			count++
		}
	}
	kept := make([]wavefrontv1.Member, 0, count)
	for i := range members {
		if keep[i] {
			kept = append(kept, members[i])
		}
	}
	return kept
}

// Classes of members, the most telling first.
const (
	exceptional = iota
	moving
	settled
)

func classOf(m *wavefrontv1.Member) int {
	switch {
	case m.Held, m.Trouble != "":
		return exceptional
	case m.State == wavefrontv1.NodeState(fleet.Settled):
		return settled
	case m.State == wavefrontv1.NodeState(fleet.Converging):
		return moving
	}
	return exceptional
}

// sizeOf returns what a member adds to the status, its comma included.
func sizeOf(m *wavefrontv1.Member) int {
	// A member holds nothing that can't be encoded.
	data, _ := json.Marshal(m)
	return len(data) + 1
}
