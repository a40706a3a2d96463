// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	"github.com/isometry/wavefront-controller/tests/env"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// view prints what happens, a line each with its time, above a table of the
// fleet. On a terminal the table stays in place; elsewhere it is printed whenever
// the fleet's phase has changed.
type view struct {
	mu    sync.Mutex
	out   io.Writer
	live  bool
	table []string // as it stands on the terminal
	last  map[string]string
	phase wavefrontv1.Phase
}

func newView(out *os.File) *view {
	return &view{out: out, live: term.IsTerminal(int(out.Fd())), last: map[string]string{}}
}

// print writes lines above the table.
func (v *view) print(lines ...string) {
	v.clear()
	for _, line := range lines {
		_, _ = fmt.Fprintln(v.out, line)
	}
	v.draw()
}

// clear takes the table off the terminal.
func (v *view) clear() {
	if v.live && len(v.table) > 0 {
		_, _ = fmt.Fprintf(v.out, "\x1b[%dA\x1b[J", len(v.table))
	}
}

func (v *view) draw() {
	if v.live && len(v.table) > 0 {
		_, _ = fmt.Fprintln(v.out, strings.Join(v.table, "\n"))
	}
}

func (v *view) headline(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print("", "── "+fmt.Sprintf(format, args...))
}

func (v *view) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print("   " + text)
}

// event prints one thing that happened.
func (v *view) event(at time.Time, what, name, detail string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print(fmt.Sprintf("   %s  %-7s %-10s %s", at.Format("15:04:05.000"), what, name, detail))
}

func (v *view) pushed(source, commit, note string) {
	v.event(time.Now(), "push", source, strings.TrimSpace(short(commit)+" "+note))
}

// entry prints a write that changed a pin, or that made a node ready at a commit.
func (v *view) entry(e testfleet.Entry) {
	key, value, what := e.Kind+"/"+e.Name, e.Pin, "pin"
	if e.Kind != sourcev1.GitRepositoryKind {
		if !e.Ready {
			return
		}
		value, what = e.Applied, "ready"
	}
	v.mu.Lock()
	before := v.last[key]
	v.last[key] = value
	v.mu.Unlock()
	switch {
	case value == before || value == "":
	case what == "pin" && before != "":
		v.event(e.Seen, what, e.Name, short(before)+" -> "+short(value))
	case what == "pin":
		v.event(e.Seen, what, e.Name, "at "+short(value)+" (initial)")
	case before != "":
		v.event(e.Seen, what, e.Name, "at "+short(value))
	}
}

// follow keeps the table up to date until ctx ends.
func (v *view) follow(ctx context.Context, c client.WithWatch, name string) {
	// Ends with ctx alone: the condition is never met.
	_, _ = testfleet.Await(ctx, c, &wavefrontv1.WavefrontList{}, client.ObjectKey{Name: name}, func(wf *wavefrontv1.Wavefront) bool {
		v.show(wf)
		return false
	})
}

// show renders the fleet as its status tells it.
func (v *view) show(wf *wavefrontv1.Wavefront) {
	if len(wf.Status.Members) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.table = render(wf)
	if !v.live && wf.Status.Phase != v.phase {
		_, _ = fmt.Fprintln(v.out, strings.Join(v.table, "\n"))
	}
	v.phase = wf.Status.Phase
	v.draw()
}

// close leaves the last table where it is.
func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.table = nil
}

func render(wf *wavefrontv1.Wavefront) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(w, "   "+strings.Join(cells, "\t")) }
	row("NODE", "WAVE", "STATE", "PIN", "OBSERVED", "WAITS FOR")
	for _, m := range wf.Status.Members {
		waits := ""
		if m.Blocked != nil {
			waits = m.Blocked.Reason
			if m.Blocked.Ancestor != nil {
				waits += " " + m.Blocked.Ancestor.Name
			}
		}
		name := m.Node.Name
		if m.Role == wavefrontv1.RoleGate {
			name += " (gate)"
		}
		row(name, fmt.Sprint(m.Wave), string(m.State), short(m.Pin), short(m.ObservedSHA), waits)
	}
	// A Builder never fails.
	_ = w.Flush()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return append(append([]string{""}, lines...), "   phase "+string(wf.Status.Phase), "")
}

// releaseSet prints what is released.
func (v *view) releaseSet(sources []sourcev1.GitRepository) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.table = nil
	w := tabwriter.NewWriter(v.out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "   SOURCE\tCOMMIT\tREF\tADMITTED AT")
	for _, g := range sources {
		_, _ = fmt.Fprintf(w, "   %s/%s\t%s\t%s\t%s\n", g.Namespace, g.Name, testfleet.PinOf(&g),
			g.Annotations[wavefrontv1.ObservedRefAnnotation], g.Annotations[wavefrontv1.AdmittedAtAnnotation])
	}
	_ = w.Flush()
}

// lookAround says what to try while everything is up.
func (v *view) lookAround(e *env.Env, log string) {
	v.headline("Everything is still up. In another terminal:")
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print(
		"   export KUBECONFIG="+e.Kubeconfig(),
		"   kubectl get wf,gitrepositories,kustomizations -A",
		"   kubectl describe wf fleet",
		"   bin/wfctl status",
		"   bin/wfctl watch",
		"   git clone "+e.Git().URL()+"/flotillas/web && cd web   # commit and push to main, and watch it roll out",
		"   tail -f "+log,
		"   Ctrl-C here stops it all.",
	)
}

func short(commit string) string {
	const digits = 8
	if len(commit) > digits {
		return commit[:digits]
	}
	return commit
}
