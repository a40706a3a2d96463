// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/isometry/wavefront-controller/tests/env"
)

const (
	// readyTimeout bounds the wait for somebody else's up.
	readyTimeout = 5 * time.Minute
	// stopTimeout bounds the wait for the background process to end.
	stopTimeout = 30 * time.Second
	// lookEvery is how often a file or a lock is looked at.
	lookEvery = 100 * time.Millisecond
	// readyLine is what serve tells up on the inherited pipe.
	readyLine = "ready\n"
	// announceFD is that pipe: the first descriptor after the standard three.
	announceFD = 3
)

// up starts serve in the background and waits for it, or joins a running one.
func up(ctx context.Context, p place, out io.Writer) error {
	release, err := p.acquire()
	switch {
	case errors.Is(err, errRunning):
		_, _ = fmt.Fprintln(out, "local: already running")
		return describe(ctx, p, out)
	case err != nil:
		return err
	}
	err = p.clear() // what a crash left
	release()
	if err != nil {
		return err
	}
	if err := background(ctx, p); err != nil {
		return err
	}
	return describe(ctx, p, out)
}

// background runs serve as a process of its own session and waits until it is ready.
func background(ctx context.Context, p place) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	cmd := exec.Command(self, "serve", "--dir", p.dir, "--announce")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{writer}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = writer.Close()
	if err != nil {
		return fmt.Errorf("failed to start in the background: %w", err)
	}
	answer := make(chan string, 1)
	go func() {
		content, _ := io.ReadAll(reader) // ends when serve closes its end, or is gone
		answer <- string(content)
	}()
	select {
	case line := <-answer:
		if line == readyLine {
			return cmd.Process.Release()
		}
		logged, _ := os.ReadFile(p.log())
		return fmt.Errorf("failed to start; %s says:\n%s", p.log(), strings.TrimSpace(string(logged)))
	case <-ctx.Done():
		return errors.Join(ctx.Err(), cmd.Process.Signal(syscall.SIGTERM))
	}
}

// describe waits for the two files and prints them.
func describe(ctx context.Context, p place, out io.Writer) error {
	err := wait.PollUntilContextTimeout(ctx, lookEvery, readyTimeout, true, func(context.Context) (bool, error) {
		_, err := os.Stat(p.env())
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("failed to wait for %q: %w", p.env(), err)
	}
	content, err := os.ReadFile(p.env())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "local: running; kubeconfig in %s, these in %s\n%s", p.kubeconfig(), p.env(), content)
	return err
}

// serve runs the control plane until a signal, and leaves no process behind. With
// announce it tells up when it is ready.
func serve(ctx context.Context, p place, announce bool) error {
	if announce {
		syscall.CloseOnExec(announceFD)
	}
	// The terminal that up was called in may go away.
	signal.Ignore(syscall.SIGHUP)
	release, err := p.acquire()
	if err != nil {
		return err
	}
	defer release()
	if err := p.sign(); err != nil {
		return err
	}
	e, err := env.Start(ctx, env.Options{Dir: p.cluster(), Audit: true, Progress: os.Stdout})
	if err != nil {
		return err
	}
	err = publish(p, e)
	if err == nil {
		if announce {
			tellReady()
		}
		<-ctx.Done()
	}
	return errors.Join(err, e.Stop())
}

// publish writes the files that up promises, the one that announces them last.
func publish(p place, e *env.Env) error {
	if err := env.WriteKubeconfig(p.kubeconfig(), e.Config()); err != nil {
		return err
	}
	content := fmt.Sprintf("KUBECONFIG=%s\nGIT_URL=%s\nGIT_ROOT=%s\nLOGS=%s\n",
		p.kubeconfig(), e.Git().URL(), e.Git().Root(), e.Dir()+"/logs")
	draft := p.env() + ".new"
	if err := os.WriteFile(draft, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(draft, p.env())
}

// tellReady answers up.
func tellReady() {
	pipe := os.NewFile(announceFD, "ready")
	// An up that has given up waiting doesn't listen; nothing is lost by that.
	_, _ = pipe.WriteString(readyLine)
	_ = pipe.Close()
}

// down ends the background process and removes what it made, also after a crash.
func down(ctx context.Context, p place, out io.Writer) error {
	release, err := p.acquire()
	if errors.Is(err, errRunning) {
		if release, err = interrupt(ctx, p); err == nil {
			_, _ = fmt.Fprintln(out, "local: stopped")
		}
	}
	if err != nil {
		return err
	}
	defer release()
	if err := p.clear(); err != nil {
		return err
	}
	if err := os.Remove(p.lock()); err != nil {
		return err
	}
	// Other things may be in the folder; those stay.
	_ = os.Remove(p.dir)
	return nil
}

// interrupt ends the process that holds the lock and takes the lock over.
func interrupt(ctx context.Context, p place) (release func(), err error) {
	pid, err := p.holder()
	if err != nil {
		return nil, err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return nil, fmt.Errorf("failed to stop process %d: %w", pid, err)
		}
		err = wait.PollUntilContextTimeout(ctx, lookEvery, stopTimeout, true, func(context.Context) (bool, error) {
			var err error
			release, err = p.acquire()
			if errors.Is(err, errRunning) {
				return false, nil
			}
			return err == nil, err
		})
		if !wait.Interrupted(err) || ctx.Err() != nil {
			return release, err
		}
	}
	return nil, fmt.Errorf("failed to stop process %d: still running", pid)
}
