// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// place is the folder of one local control plane and what is in it.
type place struct{ dir string }

func newPlace(dir string) (place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	return place{dir: dir}, os.MkdirAll(dir, 0o755)
}

func (p place) cluster() string    { return filepath.Join(p.dir, "cluster") }
func (p place) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }
func (p place) env() string        { return filepath.Join(p.dir, "env") }
func (p place) log() string        { return filepath.Join(p.dir, "local.log") }
func (p place) lock() string       { return filepath.Join(p.dir, "local.lock") }

// errRunning says that another process holds the place's lock.
var errRunning = errors.New("a local control plane is running here")

// acquire takes the place's lock, which goes with this process, however it ends.
// errRunning says that somebody has it.
func (p place) acquire() (release func(), err error) {
	file, err := os.OpenFile(p.lock(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errRunning
		}
		return nil, fmt.Errorf("failed to lock %q: %w", p.lock(), err)
	}
	return func() { _ = file.Close() }, nil
}

// sign writes the lock holder's process id into the lock.
func (p place) sign() error {
	return os.WriteFile(p.lock(), []byte(strconv.Itoa(os.Getpid())), 0o644)
}

// holder is the process that holds the lock; only true while it is held.
func (p place) holder() (int, error) {
	content, err := os.ReadFile(p.lock())
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("failed to read process id in %q: %w", p.lock(), err)
	}
	return pid, nil
}

// clear removes what up made, and the folder if nothing else is in it.
func (p place) clear() error {
	var errs []error
	for _, path := range []string{p.cluster(), p.kubeconfig(), p.env(), p.log()} {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}
