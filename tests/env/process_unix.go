//go:build unix && !linux

// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import "syscall"

// ownGroup puts a program in a process group of its own, out of reach of a terminal's
// Ctrl-C. Only Linux can also tie its life to this process's: elsewhere a caller that
// is killed leaves its programs behind.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
