// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	scratchPattern = "wavefront-env-*"
	// scratchLock, in a temporary data folder, is locked while the folder's process
	// lives. A folder without it is not ours to remove.
	scratchLock = "process.lock"
)

// scratch is a temporary data folder.
type scratch struct {
	dir  string
	lock *os.File
}

// newScratch makes a temporary data folder, and removes those of processes that were
// killed.
func newScratch() (*scratch, error) {
	sweepScratch(os.TempDir())
	dir, err := os.MkdirTemp("", scratchPattern)
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, scratchLock), os.O_CREATE)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &scratch{dir: dir, lock: lock}, nil
}

// lockFile opens and locks a file; the lock goes with the process, however it ends.
func lockFile(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|flag, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("failed to lock %q: %w", path, err)
	}
	return file, nil
}

// sweepScratch removes folders whose process is gone. What it can't remove it leaves
// to the next.
func sweepScratch(parent string) {
	dirs, err := filepath.Glob(filepath.Join(parent, scratchPattern))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		lock, err := lockFile(filepath.Join(dir, scratchLock), 0)
		if err != nil {
			continue // in use, kept, or not ours
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}

// keep has the folder survive its process.
func (s *scratch) keep() error { return os.Remove(filepath.Join(s.dir, scratchLock)) }

// remove deletes the folder, unless it is kept.
func (s *scratch) remove() error {
	defer func() { _ = s.lock.Close() }()
	if _, err := os.Stat(filepath.Join(s.dir, scratchLock)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return os.RemoveAll(s.dir)
}
