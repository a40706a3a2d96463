// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
)

// Exit codes.
const (
	// ExitSuccess: done as asked.
	ExitSuccess = 0
	// ExitError: failed, refused, or used wrongly.
	ExitError = 1
	// ExitFound: the command worked, and found the fleet Blocked (status) or
	// errors (lint).
	ExitFound = 2
)

// ExitCode is an error that only carries the exit code: everything worth saying
// has been printed.
type ExitCode int

// Error implements error.
func (e ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// program is one run of wfctl. It holds what would otherwise be global.
type program struct {
	// name it was called by, as people type it ("kubectl wavefront").
	name string
	// version of the build.
	version string
	streams genericiooptions.IOStreams
	flags   *genericclioptions.ConfigFlags
	// now is the clock.
	now func() time.Time
	// getenv reads the environment.
	getenv func(string) string
	// connect opens the cluster; tests put a fake in its place.
	connect func() (client.WithWatch, error)
	// restConfig is the connection as kubectl's flags describe it.
	restConfig func() (*rest.Config, error)
	// interactive tells whether a person can be asked; colorable and fullScreen
	// whether standard output is a terminal.
	interactive, colorable func() bool

	// origin is who runs the program where ("jane@workstation").
	origin func() string

	wavefront string
	color     colorMode
	// declarative and noCrossNamespaceRefs are what the controller's flags of
	// these names say: its rules depend on them.
	declarative          []string
	noCrossNamespaceRefs bool
}

// Option changes a program, for tests.
type Option func(*program)

// WithClient uses c instead of the cluster that the flags name.
func WithClient(c client.WithWatch) Option {
	return func(p *program) { p.connect = func() (client.WithWatch, error) { return c, nil } }
}

// WithClock sets the clock.
func WithClock(now func() time.Time) Option { return func(p *program) { p.now = now } }

// WithInteractive says whether a person can be asked. By default that is so
// where standard input and error are terminals.
func WithInteractive(yes bool) Option {
	return func(p *program) { p.interactive = func() bool { return yes } }
}

// Main runs wfctl with the arguments of the process (the first is the name it
// was called by) and returns the exit code.
func Main(ctx context.Context, args []string, version string, streams genericiooptions.IOStreams, opts ...Option) int {
	ctrllog.SetLogger(logr.Discard())
	p := newProgram(args[0], version, streams, opts...)
	cmd := p.command()
	cmd.SetArgs(args[1:])
	err := cmd.ExecuteContext(ctx)
	var code ExitCode
	switch {
	case err == nil:
		return ExitSuccess
	case errors.As(err, &code):
		return int(code)
	}
	p.failure(err)
	return ExitError
}

// Command returns the command tree, for the reference.
func Command(version string) *cobra.Command {
	return newProgram("wfctl", version, genericiooptions.NewTestIOStreamsDiscard()).command()
}

func newProgram(arg0, version string, streams genericiooptions.IOStreams, opts ...Option) *program {
	p := &program{
		name: calledAs(arg0), version: version, streams: streams,
		flags: genericclioptions.NewConfigFlags(true),
		now:   time.Now, getenv: os.Getenv, color: colorAuto,
	}
	p.origin = localOrigin
	p.restConfig = p.clusterConfig
	p.connect = p.clusterClient
	p.interactive = func() bool { return isTerminal(p.streams.In) && isTerminal(p.streams.ErrOut) }
	p.colorable = func() bool { return isTerminal(p.streams.Out) }
	for _, o := range opts {
		o(p)
	}
	return p
}

// calledAs turns the name of the executable into what a person types: plugins
// of kubectl and flux are called through their host.
func calledAs(arg0 string) string {
	name := strings.TrimSuffix(filepath.Base(filepath.ToSlash(arg0)), ".exe")
	for _, host := range []string{"kubectl", "flux"} {
		if plugin, ok := strings.CutPrefix(name, host+"-"); ok {
			return host + " " + strings.ReplaceAll(plugin, "-", " ")
		}
	}
	if name == "" || name == "." || name == "/" {
		return "wfctl"
	}
	return name
}

// localOrigin names the local user and machine.
func localOrigin() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored tells whether standard output gets colours.
func (p *program) colored() bool {
	switch p.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	return p.colorable() && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
}

// run spells a command line of this program, for sentences that name a fix.
func (p *program) run(args string) string { return "`" + p.name + " " + args + "`" }

// Narration goes to standard error, with Flux's symbols.

func (p *program) waiting(format string, args ...any) { p.narrate("◎", format, args...) }
func (p *program) success(format string, args ...any) { p.narrate("✔", format, args...) }
func (p *program) warning(format string, args ...any) { p.narrate("⚠️", format, args...) }
func (p *program) note(format string, args ...any)    { p.narrate("ℹ", format, args...) }
func (p *program) failure(err error)                  { p.narrate("✗", "%s", err.Error()) }

func (p *program) narrate(symbol, format string, args ...any) {
	text := escape.Terminal(escape.Text(fmt.Sprintf(format, args...)))
	_, _ = fmt.Fprintln(p.streams.ErrOut, symbol+" "+text)
}
