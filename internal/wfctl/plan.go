// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/isometry/wavefront-controller/internal/wfctl/escape"
	"github.com/isometry/wavefront-controller/internal/wfctl/picture"
	"github.com/isometry/wavefront-controller/internal/wfctl/table"
)

// plan is what a write command is about to do. It is printed before anything is
// written, and carried out as printed: every step is guarded by what was read.
type plan struct {
	// title says in a few words what happens.
	title string
	steps []step
	// notes say what follows from it, warnings what may surprise.
	notes    []string
	warnings []string
	// audit is recorded on the Wavefront, once for each step that was done.
	wavefront *picture.Ref
	reason    string
	action    string
}

// step is one write to one object.
type step struct {
	object picture.Ref
	// fields that change.
	fields []fieldChange
	// say is the audit note, without who and why.
	say string
	// write does it.
	write func(ctx context.Context) error
	// fatal ends the plan where the step fails; otherwise the next is tried.
	fatal bool
}

// fieldChange is one field before and after.
type fieldChange struct {
	field, manager, before, after string
}

// writeFlags are the flags of every write command.
type writeFlags struct {
	yes, dryRun bool
	reason      string
}

func (f *writeFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "Carry the plan out without asking")
	flags.BoolVar(&f.dryRun, "dry-run", false, "Print the plan and stop")
	flags.StringVar(&f.reason, "reason", "", "Why: recorded in the audit event on the Wavefront")
	cmd.MarkFlagsMutuallyExclusive("yes", "dry-run")
}

// errDeclined says that a person answered no.
var errDeclined = errors.New("nothing was written: not confirmed")

// carryOut prints the plan, asks, and does it. Without steps there is nothing to
// do, which is a success.
func (p *program) carryOut(ctx context.Context, c client.Client, pl *plan, f *writeFlags) error {
	if len(pl.steps) == 0 {
		for _, n := range pl.notes {
			p.note("%s", n)
		}
		p.success("nothing to do")
		return nil
	}
	if err := p.printPlan(pl); err != nil {
		return err
	}
	if f.dryRun {
		p.success("dry run: nothing was written")
		return nil
	}
	if err := p.confirm(ctx, f); err != nil {
		return err
	}
	return p.do(ctx, c, pl, f)
}

func (p *program) printPlan(pl *plan) error {
	t := table.Table{Header: []string{"OBJECT", "FIELD", "MANAGER", "BEFORE", "AFTER"}}
	for _, s := range pl.steps {
		name := s.object.String()
		for _, f := range s.fields {
			t.Add(table.Text(name, f.field, f.manager, f.before, f.after)...)
		}
	}
	if _, err := fmt.Fprintln(p.streams.Out, "Plan: "+escape.Terminal(pl.title)); err != nil {
		return err
	}
	if err := t.Write(p.streams.Out, p.colored()); err != nil {
		return err
	}
	for _, n := range pl.notes {
		p.note("%s", n)
	}
	for _, w := range pl.warnings {
		p.warning("%s", w)
	}
	return nil
}

// confirm asks a person. Where there is none, only --yes confirms.
func (p *program) confirm(ctx context.Context, f *writeFlags) error {
	if f.yes {
		return nil
	}
	if !p.interactive() {
		return errors.New("failed to ask for confirmation: there is no terminal; nothing was written; --yes carries the plan out, --dry-run only prints it")
	}
	if _, err := fmt.Fprint(p.streams.ErrOut, "Carry this out? [y/N] "); err != nil {
		return err
	}
	answer := make(chan string, 1)
	go func() { answer <- readLine(p.streams.In) }()
	select {
	case <-ctx.Done():
		return errDeclined
	case a := <-answer:
		if a = strings.ToLower(strings.TrimSpace(a)); a == "y" || a == "yes" {
			return nil
		}
	}
	return errDeclined
}

func readLine(r io.Reader) string {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && line == "" {
		return ""
	}
	return line
}

// do carries the steps out and tells of each. A failed step does not stop the
// others, unless it is fatal; the exit code is honest.
func (p *program) do(ctx context.Context, c client.Client, pl *plan, f *writeFlags) error {
	failed := 0
	for i, s := range pl.steps {
		if err := s.write(ctx); err != nil {
			failed++
			p.failure(fmt.Errorf("failed to write %s: %w", s.object, explainWrite(err)))
			if s.fatal {
				if left := len(pl.steps) - i - 1; left > 0 {
					p.warning("%d further steps were not tried", left)
				}
				break
			}
			continue
		}
		p.success("%s: %s", s.object, s.say)
		p.audit(ctx, c, pl, s, f)
	}
	if failed > 0 {
		return fmt.Errorf("failed: %d of %d steps", failed, len(pl.steps))
	}
	return nil
}
