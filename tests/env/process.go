// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// defaultReadyTimeout bounds the wait for a program to become ready.
	defaultReadyTimeout = 2 * time.Minute
	// defaultStopTimeout is how long a program may take to end after SIGTERM.
	defaultStopTimeout = 20 * time.Second
	// logTail is how much of a program's log an error carries, in bytes.
	logTail = 2000
)

// ErrNotRunning says that a signal was meant for a process that has ended or was
// never started.
var ErrNotRunning = errors.New("process is not running")

// Command says how to run a program.
type Command struct {
	// Name is what errors call the program.
	Name string
	// Path is the executable.
	Path string
	// Args are its arguments, without the program's name.
	Args []string
	// Env is added to the environment of this process, as KEY=value.
	Env []string
	// Dir is the working directory; empty means this process's own.
	Dir string
	// Log is the file that standard output and standard error are appended to.
	// Ignored where Output is set; with neither the output is dropped.
	Log string
	// Output receives standard output and standard error in place of Log.
	Output *os.File
	// Ready reports nil once the program can be used. It is asked again and again
	// until it does. Nil means ready as soon as it runs.
	Ready func(context.Context) error
	// ReadyTimeout bounds the wait for Ready; default two minutes.
	ReadyTimeout time.Duration
	// StopTimeout is how long Stop waits after SIGTERM before it kills; default 20 s.
	StopTimeout time.Duration
}

// Process is a program under supervision. It may be started and stopped any number of
// times, and never outlives the process that started it. Safe for concurrent use.
type Process struct {
	command Command

	mu      sync.Mutex
	current *run
}

// run is one life of a Process.
type run struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended and was reaped
	err  error         // of exec.Cmd.Wait; read it after done
}

// NewProcess prepares a program without starting it.
func NewProcess(command Command) *Process {
	return &Process{command: command}
}

// Start runs the program and waits until it is ready. It fails with the end of the
// program's log when the program ends first, and does nothing when it runs already.
func (p *Process) Start(ctx context.Context) error {
	life, err := p.launch()
	if err != nil {
		return err
	}
	timeout := p.command.ReadyTimeout
	if timeout == 0 {
		timeout = defaultReadyTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := p.awaitReady(ctx, life); err != nil {
		return errors.Join(err, p.Kill())
	}
	return nil
}

// launch starts a new life, or returns the present one.
func (p *Process) launch() (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && p.current.alive() {
		return p.current, nil
	}
	cmd := exec.Command(p.command.Path, p.command.Args...)
	cmd.Dir = p.command.Dir
	cmd.Env = append(os.Environ(), p.command.Env...)
	cmd.SysProcAttr = ownGroup()
	out := p.command.Output
	if out == nil && p.command.Log != "" {
		file, err := openLog(p.command.Log)
		if err != nil {
			return nil, fmt.Errorf("failed to open log of %q: %w", p.command.Name, err)
		}
		defer func() { _ = file.Close() }()
		out = file
	}
	if out != nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	if err := startOnForker(cmd); err != nil {
		return nil, fmt.Errorf("failed to start %q: %w", p.command.Name, err)
	}
	life := &run{cmd: cmd, done: make(chan struct{})}
	go func() {
		life.err = cmd.Wait()
		// What it leaves of its children goes with it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		close(life.done)
	}()
	p.current = life
	return life, nil
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// awaitReady polls the program's readiness until it is ready, has ended, or ctx is over.
func (p *Process) awaitReady(ctx context.Context, life *run) error {
	if p.command.Ready == nil {
		return nil
	}
	var last error
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		if !life.alive() {
			return false, fmt.Errorf("%q ended before it was ready: %w\n%s", p.command.Name, life.err, p.Tail())
		}
		last = p.command.Ready(ctx)
		return last == nil, nil
	})
	if last != nil && wait.Interrupted(err) {
		return fmt.Errorf("failed to wait for %q: %w (last answer: %w)\n%s", p.command.Name, err, last, p.Tail())
	}
	return err
}

// Stop asks the program to end (SIGTERM), waits for it, and kills it when it takes too
// long, which is an error. Stopping what does not run is none.
func (p *Process) Stop() error {
	life := p.life()
	if life == nil || !life.alive() {
		return nil
	}
	timeout := p.command.StopTimeout
	if timeout == 0 {
		timeout = defaultStopTimeout
	}
	if err := p.Resume(); err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-life.done:
		return nil
	case <-timer.C:
		return errors.Join(fmt.Errorf("failed to stop %q: still running %s after SIGTERM", p.command.Name, timeout), p.Kill())
	}
}

// Kill ends the program and its children at once (SIGKILL) and waits until it is gone.
func (p *Process) Kill() error {
	life := p.life()
	if life == nil || !life.alive() {
		return nil
	}
	if err := syscall.Kill(-life.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("failed to kill %q: %w", p.command.Name, err)
	}
	<-life.done
	return nil
}

// Restart stops the program, then starts it and waits until it is ready.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Stop(); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Pause freezes the program (SIGSTOP): it keeps its connections and answers nothing.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Resume lets a paused program go on (SIGCONT).
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Signal sends a signal to the program alone, not to its children.
func (p *Process) Signal(signal syscall.Signal) error {
	life := p.life()
	if life == nil || !life.alive() {
		return fmt.Errorf("failed to send %s to %q: %w", signal, p.command.Name, ErrNotRunning)
	}
	if err := life.cmd.Process.Signal(signal); err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			err = ErrNotRunning
		}
		return fmt.Errorf("failed to send %s to %q: %w", signal, p.command.Name, err)
	}
	return nil
}

// Running tells whether the program runs (or is paused).
func (p *Process) Running() bool {
	life := p.life()
	return life != nil && life.alive()
}

// PID is the process id of the present or last life; 0 before the first.
func (p *Process) PID() int {
	if life := p.life(); life != nil {
		return life.cmd.Process.Pid
	}
	return 0
}

// Wait returns when the program has ended: nil for exit code 0, an *exec.ExitError for
// another code or a signal, and ctx's error when that is over first.
func (p *Process) Wait(ctx context.Context) error {
	life := p.life()
	if life == nil {
		return fmt.Errorf("failed to wait for %q: %w", p.command.Name, ErrNotRunning)
	}
	select {
	case <-life.done:
		return life.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Logs returns everything the program has written to its log file, all lives together.
func (p *Process) Logs() (string, error) {
	if p.command.Log == "" {
		return "", nil
	}
	content, err := os.ReadFile(p.command.Log)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(content), err
}

// Tail returns the end of the program's log, for an error message.
func (p *Process) Tail() string {
	logs, err := p.Logs()
	if err != nil || logs == "" {
		return ""
	}
	if len(logs) > logTail {
		logs = logs[len(logs)-logTail:]
	}
	return "end of " + p.command.Log + ":\n" + strings.TrimSpace(logs)
}

func (p *Process) life() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

func (r *run) alive() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// startOnForker starts a command on the one thread that starts them all.
//
// The kernel's parent-death signal is tied to the thread that forked, not to its
// process, and Go ends threads as it sees fit. So a thread that is kept for this, and
// lives exactly as long as the process, does every fork.
func startOnForker(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	forker() <- func() { result <- cmd.Start() }
	return <-result
}

var forker = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for task := range work {
			task()
		}
	}()
	return work
})
