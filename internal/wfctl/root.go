// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isometry/wavefront-controller/internal/pin"
)

// Groups of commands in the help.
const (
	groupRead  = "read"
	groupWrite = "write"
)

const rootLong = `wfctl shows what a fleet on Flux waits for, and acts on it safely.

The wavefront controller pins each managed GitRepository to a commit and advances
the pin once everything that the source's Kustomizations depend on is settled.

Where the picture comes from:
  (default)        the status that the controller publishes; needs only read on wavefronts
  --derive         judged anew, live, through the controller's own rules: for when the
                   controller is down or doubted
  --derive --poll  the same, and the references are listed from the git servers
  --from FILE      a snapshot that was recorded by "wfctl snapshot"; needs no cluster

What was not observed shows as "?", with a note that names the remedy.
Data goes to standard output, everything else to standard error.

Exit codes: 0 success; 1 error or refusal; 2 status found the fleet Blocked, or lint
found errors.

The same program answers to kubectl-wavefront and flux-wavefront (as links), that is
to "kubectl wavefront" and "flux wavefront".`

// command builds the whole tree.
func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:               "wfctl",
		Short:             "See what a fleet waits for, and act on it safely",
		Long:              rootLong,
		Version:           p.version,
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: p.name},
	}
	root.SetIn(p.streams.In)
	root.SetOut(p.streams.Out)
	root.SetErr(p.streams.ErrOut)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: groupRead, Title: "Commands that read:"},
		&cobra.Group{ID: groupWrite, Title: "Commands that write (plan, print, ask):"},
	)
	p.addGlobalFlags(root)
	p.addCommands(root, groupRead, p.statusCommand(), p.nodesCommand(), p.sourcesCommand(), p.sourceCommand(),
		p.explainCommand(), p.graphCommand(), p.historyCommand(), p.snapshotCommand(), p.releaseSetCommand(), p.lintCommand(), p.watchCommand())
	p.addCommands(root, groupWrite, p.suspendCommand(), p.resumeCommand(), p.modeCommand(), p.reconcileCommand(),
		p.pinCommand(), p.releaseCommand(), p.adoptCommand(), p.pinStripCommand(), p.forceAdmitCommand(), p.uninstallCommand())
	root.InitDefaultCompletionCmd()
	p.callByName(root)
	return root
}

func (p *program) addCommands(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		c.DisableAutoGenTag = true
		root.AddCommand(c)
	}
}

// addGlobalFlags adds kubectl's connection flags and ours. The namespace flag is
// accepted for habit: every object is named with its own.
func (p *program) addGlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	p.flags.AddFlags(flags)
	if f := flags.Lookup("namespace"); f != nil {
		f.Usage = "Accepted for habit, without effect: a Wavefront spans namespaces and objects are named namespace/name"
	}
	if f := flags.Lookup("cache-dir"); f != nil {
		f.DefValue = strings.Replace(f.DefValue, homeDir(), "$HOME", 1)
	}
	flags.StringVar(&p.wavefront, "wavefront", "", "Name of the Wavefront; needed only where there are several")
	flags.Var(newChoice(&p.color, colorAuto, colorAuto, colorAlways, colorNever), "color",
		"Colour the output; auto does on a terminal, unless NO_COLOR is set")
	flags.StringSliceVar(&p.declarative, "declarative-managers", pin.DeclarativeManagers,
		"Field managers that render what Git says; as the controller's flag of this name")
	flags.BoolVar(&p.noCrossNamespaceRefs, "no-cross-namespace-refs", false,
		"References across namespaces are refused; as the controller's flag of this name")
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(
		[]string{colorAuto, colorAlways, colorNever}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("wavefront", p.completeWavefronts)
	_ = root.RegisterFlagCompletionFunc("context", p.completeContexts)
}

// callByName makes examples and descriptions show the name that the program was
// called by.
func (p *program) callByName(cmd *cobra.Command) {
	if p.name != "wfctl" {
		cmd.Example = strings.ReplaceAll(cmd.Example, "wfctl ", p.name+" ")
		cmd.Long = strings.ReplaceAll(cmd.Long, `"wfctl `, `"`+p.name+" ")
	}
	for _, c := range cmd.Commands() {
		p.callByName(c)
	}
}

func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		return home
	}
	return "$HOME"
}

// knownCommand refuses what is no command, and says which one may have been meant.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	remedy := fmt.Sprintf("`%s --help` lists them", root.DisplayName())
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, " or ") + "?"
	} else if args[0] == "version" {
		remedy = fmt.Sprintf("`%s --version` prints the version", root.DisplayName())
	}
	return fmt.Errorf("failed to find the command %q: %s", args[0], remedy)
}

// noArgs refuses arguments. The first that people try is the name of a Wavefront.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("failed to read the arguments: %s takes none, got %q (a Wavefront is named with --wavefront)", cmd.Name(), args[0])
}

// exactName refuses everything but one argument and says what is missing.
func exactName(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("failed to read the arguments: exactly one %s is needed, got %d", what, len(args))
		}
		return nil
	}
}
