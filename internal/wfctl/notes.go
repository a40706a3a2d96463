// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"slices"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// notes gathers the footnotes of a table: what "?" stands for, and the remedy.
type notes struct {
	program *program
	pic     *picture.Picture
	lines   []string
}

// addf adds a note once.
func (n *notes) addf(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(n.lines, line) {
		n.lines = append(n.lines, line)
	}
}

// unobserved says why commits were not observed.
func (n *notes) unobserved(pic *picture.Picture) {
	var failed, quiet int
	var first *picture.Source
	for i, s := range pic.Sources {
		switch {
		case s.Observed != "" || declared(s.Hold):
		case s.ObservationError != "":
			failed++
			if first == nil {
				first = &pic.Sources[i]
			}
		default:
			quiet++
		}
	}
	switch {
	case failed > 0 && pic.Polled:
		n.addf("? in OBSERVED: %d of %d sources can't be listed from here (%s: %s); --poll lists with your own network, and with the Secrets that you may read",
			failed, len(pic.Sources), first.Path(), first.ObservationError)
	case failed > 0:
		n.addf("? in OBSERVED: %d of %d sources can't be listed (%s: %s); nothing behind them moves until they can: repair access to the git server or the source's secretRef, then %s",
			failed, len(pic.Sources), first.Path(), first.ObservationError, n.program.run("reconcile"))
	}
	if quiet == 0 {
		return
	}
	if pic.Origin == picture.Derived && !pic.Polled {
		n.addf("? in OBSERVED: references were not listed; add --poll to list them (states assume that what the controller last observed still holds, and that nothing is new where it observed nothing)")
		return
	}
	n.addf("? in OBSERVED: %d of %d sources have not been listed since their pin changed or the controller started; it lists them within one poll interval (%s), or at once after %s",
		quiet, len(pic.Sources), pic.Wavefront.PollInterval.Duration, n.program.run("reconcile"))
}

// nothing says why there is nothing to order, and what is to be labelled.
func (n *notes) nothing(pic *picture.Picture) {
	label := wavefrontv1.ManagedLabel + `: "true"`
	switch c := pic.Wavefront.Counts; {
	case c == nil:
	case c.Observed == 0:
		n.addf("nothing is selected: label Kustomizations as spec.nodes.selector of Wavefront %q says, and the GitRepositories that they are built from with %s", pic.Wavefront.Name, label)
	case c.Pinned == 0:
		n.addf("nothing is pinned: no selected Kustomization is built from a GitRepository that is labelled %s and follows a branch; %s names what is missing", label, n.program.run("lint"))
	}
}

// unread says why the sources' own words are missing.
func (n *notes) unread(pic *picture.Picture, columns string) {
	missing := 0
	for _, s := range pic.Sources {
		if s.Detail == nil {
			missing++
		}
	}
	switch {
	case missing == 0:
	case pic.SourcesUnread != "":
		n.addf("? in %s: GitRepositories could not be read: %s; ask for the ClusterRole wavefront-wfctl-derive", columns, pic.SourcesUnread)
	default:
		n.addf("? in %s: %d GitRepositories do not exist (any more), or were not read when the picture was taken", columns, missing)
	}
}

// holds says where the reason of a hold is not known.
func (n *notes) holds(pic *picture.Picture) {
	for _, node := range pic.Nodes {
		if node.Hold != nil && node.Hold.Reason == picture.Unknown {
			n.addf("? in HELD: the status lists the reason of %d holds only; --derive tells all", wavefrontv1.MaxListed)
			return
		}
	}
}

// declared tells whether Git fixed the commit: such a source needs no listing.
func declared(h *picture.Hold) bool { return h != nil && h.Reason == "Declared" }

func pinnedNode(n picture.Node) bool {
	return n.Role == string(wavefrontv1.RolePinned) && !declared(n.Hold)
}
