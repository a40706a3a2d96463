// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"github.com/spf13/cobra"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

func (p *program) statusCommand() *cobra.Command {
	return p.watchable(&cobra.Command{
		Use:     "status",
		Short:   "Show how the fleet stands, and what needs help",
		Long:    statusLong,
		Example: statusExample,
		Args:    noArgs,
	}, false, func(pic *picture.Picture, _ []string) (*result, error) { return p.statusResult(pic), nil })
}

const statusLong = `Show the Wavefront's mode, phase, counts, graph, and everything that needs help.

With --derive the published status and the derived one are shown side by side, and
each difference is marked. Exits 2 where the fleet is Blocked, in every format.`

const statusExample = `  # How does the fleet stand?
  wfctl status

  # Is the controller's word still true? Judge anew, listing the references too
  wfctl status --derive --poll

  # In a pipeline: fail when something is Blocked
  wfctl status -o json`

// statusDocument is what status prints as JSON and YAML.
type statusDocument struct {
	Origin    picture.Origin  `json:"origin"`
	Wavefront picture.Fleet   `json:"wavefront"`
	Graph     graphSummary    `json:"graph"`
	Blocked   []blockedEntry  `json:"blocked"`
	Held      []heldEntry     `json:"held"`
	Cycles    [][]picture.Ref `json:"cycles,omitempty"`
	// Diagnostics say what is wrong, one sentence an object.
	Diagnostics []diagnostic `json:"diagnostics"`
	// Published and Differences are set with --derive.
	Published   *picture.Fleet `json:"published,omitempty"`
	Differences []difference   `json:"differences,omitempty"`
}

type graphSummary struct {
	Valid   string `json:"valid"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type blockedEntry struct {
	picture.Ref   `json:",inline"`
	picture.Block `json:",inline"`
}

type heldEntry struct {
	picture.Ref  `json:",inline"`
	Source       string `json:"source"`
	picture.Hold `json:",inline"`
}

type diagnostic struct {
	Object  picture.Ref `json:"object"`
	Message string      `json:"message"`
}

func (p *program) statusResult(pic *picture.Picture) *result {
	doc := statusOf(pic)
	r := &result{document: doc, notes: p.statusNotes(pic)}
	r.text = statusText{doc: doc, now: p.moment(pic)}.write
	if pic.Wavefront.Phase == wavefrontv1.PhaseBlocked {
		r.code = ExitFound
	}
	return r
}

func statusOf(pic *picture.Picture) *statusDocument {
	doc := &statusDocument{
		Origin: pic.Origin, Wavefront: pic.Wavefront, Cycles: pic.Cycles,
		Graph:   graphSummary{Valid: picture.Unknown},
		Blocked: []blockedEntry{}, Held: []heldEntry{}, Diagnostics: []diagnostic{},
	}
	for _, c := range pic.Wavefront.Conditions {
		if c.Type == wavefrontv1.GraphValidCondition {
			doc.Graph = graphSummary{Valid: c.Status, Reason: c.Reason, Message: c.Message}
		}
	}
	for _, n := range pic.Nodes {
		if n.Blocked != nil {
			doc.Blocked = append(doc.Blocked, blockedEntry{n.Ref, *n.Blocked})
		}
		if n.Hold != nil {
			doc.Held = append(doc.Held, heldEntry{n.Ref, sourcePath(n), *n.Hold})
		}
		if n.Missing() {
			doc.Diagnostics = append(doc.Diagnostics, diagnostic{n.Ref, "does not exist; what depends on it: " + paths(pic.Dependents(n.Ref))})
		} else if n.Trouble != "" {
			doc.Diagnostics = append(doc.Diagnostics, diagnostic{n.Ref, n.Trouble})
		}
	}
	for _, s := range pic.Sources {
		if s.ObservationError != "" {
			doc.Diagnostics = append(doc.Diagnostics, diagnostic{s.Ref, "can't be listed: " + s.ObservationError})
		}
	}
	if pic.Published != nil {
		doc.Published = &pic.Published.Wavefront
		doc.Differences = differences(pic.Published, pic)
	}
	return doc
}

func (p *program) statusNotes(pic *picture.Picture) []string {
	n := &notes{program: p, pic: pic}
	if pic.Wavefront.Counts == nil {
		n.addf("? in NODES: the fleet was never evaluated; %s shows it anyway", p.run("status --derive"))
	}
	n.nothing(pic)
	n.unobserved(pic)
	for _, node := range pic.Nodes {
		if node.Blocked != nil && pic.Wavefront.Phase == wavefrontv1.PhaseBlocked {
			n.addf("%s tells what a node waits for and what to do", p.run("explain NAMESPACE/NAME"))
			break
		}
	}
	return n.lines
}

func sourcePath(n picture.Node) string {
	if n.Source == nil {
		return ""
	}
	return n.Source.Path()
}
