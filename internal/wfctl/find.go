// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"strings"

	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// kindAliases are the short names that kubectl knows.
var kindAliases = map[string]string{"Kustomization": "ks", "HelmRelease": "hr", "GitRepository": "gitrepo"}

// parseName reads [Kind/]namespace/name; kinds are those that may be meant, the
// first is the default.
func parseName(arg string, kinds ...string) (picture.Ref, error) {
	parts := strings.Split(arg, "/")
	ref := picture.Ref{Kind: kinds[0]}
	switch len(parts) {
	case 2:
		ref.Namespace, ref.Name = parts[0], parts[1]
	case 3:
		ref.Kind, ref.Namespace, ref.Name = "", parts[1], parts[2]
		for _, kind := range kinds {
			if strings.EqualFold(kind, parts[0]) || strings.EqualFold(kindAliases[kind], parts[0]) {
				ref.Kind = kind
			}
		}
		if ref.Kind == "" {
			return ref, fmt.Errorf("failed to read %q: the kind %q is none of %s", arg, parts[0], strings.Join(kinds, ", "))
		}
	default:
		return ref, fmt.Errorf("failed to read %q: expected namespace/name (-n has no effect)", arg)
	}
	if ref.Namespace == "" || ref.Name == "" {
		return ref, fmt.Errorf("failed to read %q: expected namespace/name, neither empty", arg)
	}
	return ref, nil
}

func findSource(pic *picture.Picture, arg string) (*picture.Source, error) {
	ref, err := parseName(arg, "GitRepository")
	if err != nil {
		return nil, err
	}
	if s := pic.Source(ref.Path()); s != nil {
		return s, nil
	}
	for _, n := range pic.Nodes {
		if n.Source != nil && n.Source.Path() == ref.Path() {
			return nil, fmt.Errorf("failed to find the source %q: it is not in scope: what is built from it, %s, is a gate; `lint` says which label or reference keeps it out",
				arg, n.Path())
		}
		if n.Path() == ref.Path() && n.Source != nil {
			return nil, fmt.Errorf("failed to find the source %q: that is a node; its source is %q", arg, n.Source.Path())
		}
	}
	return nil, fmt.Errorf("failed to find the source %q: Wavefront %q has no such source in scope%s", arg, pic.Wavefront.Name, omitted(pic))
}

func findNode(pic *picture.Picture, arg string) (*picture.Node, error) {
	ref, err := parseName(arg, "Kustomization", "HelmRelease")
	if err != nil {
		return nil, err
	}
	if n := pic.Node(ref); n != nil {
		return n, nil
	}
	if s := pic.Source(ref.Path()); s != nil && len(s.Nodes) > 0 {
		return nil, fmt.Errorf("failed to find the node %q: that is a source; its nodes are %s", arg, paths(s.Nodes))
	}
	return nil, fmt.Errorf("failed to find the node %q: it is not in the graph of Wavefront %q%s", arg, pic.Wavefront.Name, omitted(pic))
}

func omitted(pic *picture.Picture) string {
	if pic.Wavefront.LastEvaluated == nil && pic.Origin == picture.FromStatus {
		return ", which was never evaluated"
	}
	if pic.Wavefront.MembersOmitted == 0 {
		return "; are the labels on both the Kustomization and its GitRepository, and does that follow a branch?"
	}
	return fmt.Sprintf(" (%d settled nodes are left out of the status: try --derive)", pic.Wavefront.MembersOmitted)
}
