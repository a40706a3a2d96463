// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
)

// completeTimeout bounds what a person waits for after pressing tab.
const completeTimeout = 3 * time.Second

// completeFunc is cobra's signature.
type completeFunc = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

func (p *program) completeWavefronts(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(contextOf(cmd), completeTimeout)
	defer cancel()
	c, err := p.connect()
	if err != nil {
		return completionError(err)
	}
	list := &wavefrontv1.WavefrontList{}
	if err := c.List(ctx, list); err != nil {
		return completionError(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return withPrefix(names, prefix)
}

func (p *program) completeContexts(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	cfg, err := p.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return completionError(err)
	}
	var names []string
	for name := range cfg.Contexts {
		names = append(names, name)
	}
	return withPrefix(names, prefix)
}

// completeNodes offers the nodes of the picture, completeSources its sources.
func (p *program) completeNodes() completeFunc {
	return p.completeFromPicture(func(pic *picture.Picture) (names []string) {
		for _, n := range pic.Nodes {
			names = append(names, n.Path())
		}
		return names
	})
}

func (p *program) completeSources() completeFunc {
	return p.completeFromPicture(func(pic *picture.Picture) (names []string) {
		for _, s := range pic.Sources {
			names = append(names, s.Path())
		}
		return names
	})
}

func (p *program) completeFromPicture(names func(*picture.Picture) []string) completeFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(contextOf(cmd), completeTimeout)
		defer cancel()
		c, err := p.connect()
		if err != nil {
			return completionError(err)
		}
		obj, err := p.findWavefront(ctx, c)
		if err != nil {
			return completionError(err)
		}
		left := slices.DeleteFunc(names(picture.OfStatus(obj, p.now())), func(name string) bool {
			return slices.Contains(args, name)
		})
		return withPrefix(left, prefix)
	}
}

func withPrefix(names []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

func completionError(err error) ([]string, cobra.ShellCompDirective) {
	cobra.CompErrorln(err.Error())
	return nil, cobra.ShellCompDirectiveError
}

// contextOf is the command's context; completion may run without one.
func contextOf(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}
