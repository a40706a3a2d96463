// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import "syscall"

// ownGroup puts a program in a process group of its own, out of reach of a terminal's
// Ctrl-C, and has the kernel kill it when this process ends, by whatever means.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
