// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/isometry/wavefront-controller/tests/env"
)

// shell prepares a process that runs a shell script.
func shell(t *testing.T, script string) *env.Process {
	t.Helper()
	p := env.NewProcess(env.Command{
		Name: "shell",
		Path: "/bin/sh",
		Args: []string{"-c", script},
		Log:  filepath.Join(t.TempDir(), "log"),
	})
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func TestProcessReportsEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := shell(t, "echo out; echo err >&2; exit 3")
	g.Expect(p.Start(t.Context())).To(Succeed())
	var exit *exec.ExitError
	g.Expect(errors.As(p.Wait(t.Context()), &exit)).To(BeTrue())
	g.Expect(exit.ExitCode()).To(Equal(3))
	g.Expect(p.Running()).To(BeFalse())
	g.Expect(p.Logs()).To(Equal("out\nerr\n"))
	g.Expect(p.Pause()).To(MatchError(env.ErrNotRunning))
	g.Expect(p.Stop()).To(Succeed(), "stopping what has ended is fine")
}

func TestProcessThatEndsEarlyIsNotReady(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := env.NewProcess(env.Command{
		Name: "early", Path: "/bin/sh", Args: []string{"-c", "echo the reason; exit 1"},
		Log:   filepath.Join(t.TempDir(), "log"),
		Ready: func(context.Context) error { return errors.New("not yet") },
	})
	g.Expect(p.Start(t.Context())).To(MatchError(And(ContainSubstring("ended before it was ready"), ContainSubstring("the reason"))))
}

func TestProcessThatIsNeverReadyIsKilled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := env.NewProcess(env.Command{
		Name: "never", Path: "/bin/sh", Args: []string{"-c", "exec sleep 600"},
		Ready:        func(context.Context) error { return errors.New("not yet") },
		ReadyTimeout: 200 * time.Millisecond,
	})
	err := p.Start(t.Context())
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
	g.Expect(err).To(MatchError(ContainSubstring("not yet")))
	g.Expect(p.Running()).To(BeFalse())
}

func TestProcessStopsPausedProgram(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := shell(t, "trap 'echo bye; exit 0' TERM; echo up; sleep 600 & wait")
	g.Expect(p.Start(t.Context())).To(Succeed())
	g.Eventually(p.Logs).Should(ContainSubstring("up"))
	g.Expect(p.Pause()).To(Succeed())
	g.Eventually(func() string { return stateOf(p.PID()) }).Should(Equal("T"))
	g.Expect(p.Stop()).To(Succeed())
	g.Expect(p.Wait(t.Context())).To(Succeed())
	g.Expect(p.Logs()).To(ContainSubstring("bye"))

	g.Expect(p.Start(t.Context())).To(Succeed(), "and again")
	g.Expect(p.Running()).To(BeTrue())
	g.Expect(p.Kill()).To(Succeed())
	g.Expect(p.Wait(t.Context())).To(HaveOccurred())
}

// victimVariable makes this test binary the process that is killed, by TestMain.
const victimVariable = "WAVEFRONT_ENV_TEST_VICTIM"

// TestKilledTestLeavesNothing kills a process that has started programs, in many
// threads, and sees them end with it.
func TestKilledTestLeavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"=1")
	out, err := victim.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(victim.Start()).To(Succeed())
	t.Cleanup(func() { _ = victim.Process.Kill() })

	var children []int
	for lines := bufio.NewScanner(out); len(children) < victimChildren && lines.Scan(); {
		if pid, found := strings.CutPrefix(lines.Text(), "child "); found {
			n, err := strconv.Atoi(pid)
			g.Expect(err).NotTo(HaveOccurred())
			children = append(children, n)
		}
	}
	g.Expect(children).To(HaveLen(victimChildren))
	for _, pid := range children {
		g.Expect(stateOf(pid)).To(BeElementOf("S", "R", "T"), "child %d runs", pid)
	}
	g.Expect(victim.Process.Signal(syscall.SIGKILL)).To(Succeed())
	_ = victim.Wait()
	for _, pid := range children {
		g.Eventually(func() string { return stateOf(pid) }, 5*time.Second).Should(BeElementOf("", "Z"), "child %d", pid)
	}
}

const victimChildren = 8

// beVictim starts programs, says which, and waits to be killed.
func beVictim() {
	for i := range victimChildren {
		started := make(chan *env.Process)
		// Each from a thread that ends with its goroutine: the parent-death signal of
		// a program that was forked there would come now.
		go func() {
			runtime.LockOSThread()
			p := env.NewProcess(env.Command{Name: "child", Path: "/bin/sleep", Args: []string{"600"}})
			if err := p.Start(context.Background()); err != nil {
				panic(err)
			}
			started <- p
		}()
		p := <-started
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			panic(fmt.Sprintf("child ended: %v", err))
		}
		cancel()
		if i == 0 { // as a test that crashes may leave it
			if err := p.Pause(); err != nil {
				panic(err)
			}
		}
		fmt.Println("child", p.PID())
	}
	select {} // until killed
}

// stateOf is the state letter of a process; empty when there is none.
func stateOf(pid int) string {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(content), ") ")
	return rest[:1]
}
