// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

// Command wfctl shows what a fleet on Flux waits for, and acts on it safely. It
// answers to kubectl-wavefront and flux-wavefront as well.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/isometry/wavefront-controller/internal/wfctl"
)

// version is set by the linker.
var version = "0.0.0-dev.0"

func main() {
	// The context ends with the first signal, so that a command can tidy up; a
	// second one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(wfctl.Main(ctx, os.Args, version, streams))
}
