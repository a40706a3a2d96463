// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choice is a flag that takes one of a few values.
type choice struct {
	value   *string
	allowed []string
}

func newChoice(target *string, def string, allowed ...string) *choice {
	*target = def
	return &choice{value: target, allowed: allowed}
}

// String implements pflag.Value.
func (c *choice) String() string { return *c.value }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("%q is none of %s", s, strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}

// Type implements pflag.Value; it lists the values in the help.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// addTo adds the flag with its completion.
func (c *choice) addTo(cmd *cobra.Command, name, short, usage string) {
	cmd.Flags().VarP(c, name, short, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.allowed, cobra.ShellCompDirectiveNoFileComp))
}

// colorMode says when output is coloured.
type colorMode = string

const (
	colorAuto   colorMode = "auto"
	colorAlways colorMode = "always"
	colorNever  colorMode = "never"
)

// Formats of the read commands.
const (
	formatTable   = "table"
	formatWide    = "wide"
	formatJSON    = "json"
	formatYAML    = "yaml"
	formatCSV     = "csv"
	formatDot     = "dot"
	formatMermaid = "mermaid"
	formatSVG     = "svg"
)
