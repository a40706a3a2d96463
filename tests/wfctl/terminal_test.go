// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package wfctl

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	wavefrontv1 "github.com/isometry/wavefront-controller/api/wavefront/v1alpha1"
	testfleet "github.com/isometry/wavefront-controller/tests/fleet"
)

// terminal is wfctl in a real terminal: a tmux server of its own.
type terminal struct {
	f      *fixture
	socket string
}

// needTmux finds tmux, or installs it where that can be done.
func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err == nil {
		return
	}
	install := "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq tmux"
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", install).CombinedOutput(); err != nil {
		t.Skipf("the terminal view was NOT driven: tmux is missing and could not be installed (%v):\n%s", err, out)
	}
}

func (x terminal) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", x.socket, "-f", "/dev/null"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("tmux %q: %w: %s", args, err, out)
	}
	return string(out), err
}

// open starts the program in a window of the given size.
func open(f *fixture, width, height int, command string) terminal {
	f.t.Helper()
	x := terminal{f: f, socket: f.t.TempDir() + "/tmux"}
	_, err := x.tmux("new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-s", "w", command)
	f.ok(err)
	f.t.Cleanup(func() { _, _ = x.tmux("kill-server") })
	return x
}

func (x terminal) screen() string {
	out, err := x.tmux("capture-pane", "-p", "-t", "w")
	if err != nil {
		return err.Error()
	}
	return out
}

// shows waits until the screen holds all of the texts.
func (x terminal) shows(texts ...string) string {
	x.f.t.Helper()
	last := ""
	ok := x.f.g.Eventually(func() bool {
		last = x.screen()
		for _, text := range texts {
			if !strings.Contains(last, text) {
				return false
			}
		}
		return true
	}).WithContext(x.f.ctx).Should(BeTrue(), func() string { return fmt.Sprintf("the screen never showed %q:\n%s", texts, last) })
	if !ok {
		x.f.t.FailNow()
	}
	return last
}

// TestWatchInATerminal drives the live view in tmux during a rollout: it shows
// what moves and what blocks, scrolls, follows the size, and quits cleanly.
func TestWatchInATerminal(t *testing.T) {
	t.Parallel()
	needTmux(t)
	f := newFixture(t, "watch", testfleet.Node{Name: "db"}, testfleet.Node{Name: "app", DependsOn: []string{"db"}},
		testfleet.Node{Name: "web", DependsOn: []string{"app"}})
	f.enforce()
	command := fmt.Sprintf("TERM=screen-256color %s --kubeconfig %s --wavefront %s watch; echo left with $?; exec sh",
		theProgram(t, "wfctl"), platform.kubeconfigs[viewer], f.Namespace())
	x := open(f, 100, 30, command)
	x.shows("Wavefront "+f.Namespace(), "Quiescent", "3/3 settled", "Wave 2", "q quit")

	f.Hold("db")
	db := f.push("db")
	app := f.push("app")
	screen := x.shows("◐ "+path(f, "db"), "○ "+path(f, "app"), "→ "+app[:8], "AncestorPending", "What blocks", db[:8])
	t.Logf("while db is on its way:\n%s", screen)
	keep(t, "watch-blocked.txt", screen)

	x.keys("a")
	x.shows("✔ " + path(f, "web"))
	_, err := x.tmux("resize-window", "-t", "w", "-x", "60", "-y", "16")
	f.ok(err)
	f.g.Eventually(func() bool {
		lines := strings.Split(strings.TrimRight(x.screen(), "\n"), "\n")
		return len(lines) <= 16 && strings.Contains(lines[len(lines)-1], "q quit")
	}).WithContext(f.ctx).Should(BeTrue(), x.screen)

	_, err = x.tmux("resize-window", "-t", "w", "-x", "100", "-y", "30")
	f.ok(err)
	f.Release("db")
	f.ok(f.AwaitApplied(f.ctx, "app", app))
	f.quiescent()
	screen = x.shows("Quiescent", "3/3 settled", "Converging -> Settled")
	t.Logf("afterwards:\n%s", screen)
	x.keys("q")
	x.shows("left with 0")
}

func (x terminal) keys(keys ...string) {
	x.f.t.Helper()
	_, err := x.tmux(append([]string{"send-keys", "-t", "w"}, keys...)...)
	x.f.ok(err)
}

// keep writes a captured screen where WFCTL_SCREENS names a folder.
func keep(t *testing.T, name, screen string) {
	t.Helper()
	dir := os.Getenv("WFCTL_SCREENS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(dir+"/"+name, []byte(screen), 0o644); err != nil {
		t.Error(err)
	}
}

// TestConfirmationInATerminal: a person is asked, and the answer counts.
func TestConfirmationInATerminal(t *testing.T) {
	t.Parallel()
	needTmux(t)
	f := newFixture(t, "ask", testfleet.Node{Name: "app"})
	f.enforce()
	command := fmt.Sprintf("%s --kubeconfig %s --wavefront %s suspend; echo left with $?; exec sh",
		theProgram(t, "wfctl"), platform.kubeconfigs[operator], f.Namespace())
	no := open(f, 120, 30, command)
	no.shows("Carry this out? [y/N]")
	no.keys("n", "Enter")
	no.shows("not confirmed", "left with 1")
	yes := open(f, 120, 30, command)
	yes.shows("Carry this out? [y/N]")
	yes.keys("y", "Enter")
	yes.shows("left with 0")
	f.status("the suspension", func(wf *wavefrontv1.Wavefront) bool { return wf.Spec.Suspend })
}

// TestWatchWithoutATerminal: the same is told line by line.
func TestWatchWithoutATerminal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "lines", testfleet.Node{Name: "app"})
	f.enforce()
	out, err := os.CreateTemp(t.TempDir(), "lines")
	f.ok(err)
	defer func() { _ = out.Close() }()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, theProgram(t, "wfctl"), "--kubeconfig", platform.kubeconfigs[viewer], "--wavefront", f.Namespace(), "watch")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	f.ok(cmd.Start())
	told := func() string {
		content, err := os.ReadFile(out.Name())
		f.ok(err)
		return string(content)
	}
	f.g.Eventually(told).WithContext(f.ctx).Should(ContainSubstring("Quiescent: 1/1 settled"))
	head := f.push("app")
	f.g.Eventually(told).WithContext(f.ctx).Should(And(ContainSubstring("-> "+head[:8]), ContainSubstring(path(f, "app"))))
	cancel()
	f.g.Expect(cmd.Wait()).To(Or(Succeed(), MatchError(context.Canceled)))
	f.g.Expect(told()).NotTo(ContainSubstring("\x1b"))
}
