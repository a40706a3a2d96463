// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// difference between what the controller published and what wfctl derived.
type difference struct {
	Object    string `json:"object"`
	Field     string `json:"field"`
	Published string `json:"published"`
	Derived   string `json:"derived"`
}

// differences compares two pictures of one Wavefront. Observed commits are
// compared only where both observed; nodes that the published list left out are
// no difference.
func differences(published, derived *picture.Picture) []difference {
	var out []difference
	add := func(object, field, a, b string) {
		if a != b {
			out = append(out, difference{object, field, a, b})
		}
	}
	name := "Wavefront/" + derived.Wavefront.Name
	add(name, "phase", string(published.Wavefront.Phase), string(derived.Wavefront.Phase))
	compareCounts(name, published.Wavefront.Counts, derived.Wavefront.Counts, add)
	add(name, "graph", validity(published), validity(derived))

	before := map[picture.Ref]picture.Node{}
	for _, n := range published.Nodes {
		before[n.Ref] = n
	}
	for _, n := range derived.Nodes {
		p, ok := before[n.Ref]
		delete(before, n.Ref)
		if !ok {
			if published.Wavefront.MembersOmitted == 0 {
				add(n.String(), "member", "absent", "present")
			}
			continue
		}
		compareNodes(p, n, add)
	}
	for _, n := range published.Nodes {
		if _, left := before[n.Ref]; left {
			add(n.String(), "member", "present", "absent")
		}
	}
	return out
}

func compareNodes(p, d picture.Node, add func(object, field, a, b string)) {
	object := d.String()
	add(object, "role", p.Role, d.Role)
	add(object, "state", p.State, d.State)
	add(object, "wave", fmt.Sprint(p.Wave), fmt.Sprint(d.Wave))
	add(object, "source", sourcePath(p), sourcePath(d))
	add(object, "pin", short(p.Pin), short(d.Pin))
	if p.Observed != "" && d.Observed != "" {
		add(object, "observed", short(p.Observed), short(d.Observed))
	}
	add(object, "held", fmt.Sprint(p.Hold != nil), fmt.Sprint(d.Hold != nil))
	add(object, "blocked", blockText(p.Blocked), blockText(d.Blocked))
}

func compareCounts(object string, p, d *wavefrontv1.NodeCounts, add func(object, field, a, b string)) {
	if p == nil || d == nil {
		add(object, "nodes", fmt.Sprint(p != nil), fmt.Sprint(d != nil))
		return
	}
	for _, c := range []struct {
		field string
		p, d  int
	}{
		{"nodes.observed", p.Observed, d.Observed}, {"nodes.pinned", p.Pinned, d.Pinned},
		{"nodes.gates", p.Gates, d.Gates}, {"nodes.settled", p.Settled, d.Settled},
		{"nodes.pending", p.Pending, d.Pending}, {"nodes.converging", p.Converging, d.Converging},
		{"nodes.unhealthy", p.Unhealthy, d.Unhealthy}, {"nodes.blocked", p.Blocked, d.Blocked},
		{"nodes.held", p.Held, d.Held},
	} {
		add(object, c.field, fmt.Sprint(c.p), fmt.Sprint(c.d))
	}
}

func validity(pic *picture.Picture) string {
	for _, c := range pic.Wavefront.Conditions {
		if c.Type == wavefrontv1.GraphValidCondition {
			return c.Status + " " + c.Reason
		}
	}
	return picture.Unknown
}
